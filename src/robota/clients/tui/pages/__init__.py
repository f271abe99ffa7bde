"""Full screens: a reader for long texts, and lists with a preview of each option. Uses flows and widgets."""
