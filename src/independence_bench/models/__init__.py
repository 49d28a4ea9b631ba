"""Models and how they are called: specifications, messages, responses, and the one HTTP client."""
