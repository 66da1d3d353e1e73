"""`{{ turn|turn_provider }}`: its provider on pages; `{{ turn|asks_simulator }}`: whether it is free."""

from django import template

from dashboard.turns import provider_words

register = template.Library()
register.filter("turn_provider", provider_words.turn_provider_shown)
register.filter("asks_simulator", provider_words.asks_simulator)
