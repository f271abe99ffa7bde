"""What `robota plugin` and `/plugin` do: one implementation for the command line and every client."""
