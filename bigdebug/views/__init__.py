"""Views: what people see. Widgets come with a later step; tables live beside traces until then."""
