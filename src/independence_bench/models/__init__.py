"""Who is called, and how: specifications, messages, responses, and the one HTTP client."""
