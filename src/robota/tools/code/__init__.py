"""Tools that understand code: what it defines, and where that is used. They decide no permission."""
