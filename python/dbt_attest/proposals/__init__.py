"""What an annotation could say: from what is known to YAML and sheets, and from those into a project's files."""
