"""The benchmark as values: scenarios, rubrics, conversations, deliveries, plans, scores."""
