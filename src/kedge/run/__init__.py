"""The loop: tasks are worked on by agents until they are shown to be done."""
