"""Tools that steer the task: questions, completion, subtasks, modes, the todo list."""
