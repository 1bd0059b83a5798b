"""Views: what people see, and what the browser is told of it: widgets, and the contents of messages. Tables live beside traces."""
