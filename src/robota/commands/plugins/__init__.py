"""The implementation of `robota plugin` and `/plugin`."""
