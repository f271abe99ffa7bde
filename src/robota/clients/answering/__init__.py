"""What a typed line answers: shared by the clients that talk with a person. Pure; may use protocol."""
