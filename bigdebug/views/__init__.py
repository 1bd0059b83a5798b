"""Views: what people see, and what the browser is told of it. Widgets come with a later step; tables live beside traces until then."""
