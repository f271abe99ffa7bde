"""What is shown on a screen of its own: long texts, and lists with a look at each option. Uses flows and widgets."""
