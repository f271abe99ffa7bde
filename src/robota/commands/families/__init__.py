"""The families of verbs, each with a `FAMILY`: its verbs, their arguments, and what its errors mean."""
