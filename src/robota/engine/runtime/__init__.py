"""What the parts of a running task share: options, services, asks and queue, and `TaskRuntime`, which holds them."""
