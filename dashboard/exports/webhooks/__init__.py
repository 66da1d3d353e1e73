"""Webhooks: other programs are notified of events by signed HTTP requests (Standard Webhooks).

The database notes an event in the transaction that makes it (migration 0001), where any webhook is on. The worker makes
deliveries of events, and sends them until they arrive or their tries are over.

events             which events there are, and what is said of each
secret             a webhook's secret, and the signature of a request
delivery_creation  events → deliveries
sender             deliveries → requests
delivery_queue     which deliveries are due, and what becomes of one, and of a webhook whose deliveries fail
"""
