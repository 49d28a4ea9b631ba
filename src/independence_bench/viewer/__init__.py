"""The web viewer's Python side: what is stored -> answers, served on loopback or frozen into a static site."""
