"""The composition root: one module for each thing that is put together. May use every room but `cli`."""
