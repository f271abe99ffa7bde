"""The reducer: state and event in, new state and effects out. Pure: no UI library, no clock, no I/O."""
