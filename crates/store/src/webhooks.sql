-- Webhooks: addresses that are told of what becomes of an owner's sessions, and what waits to be told.
CREATE TABLE webhooks (
    key INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    url TEXT NOT NULL,
    secret TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    kinds INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    row_sha256 BLOB NOT NULL
);
CREATE INDEX webhooks_by_owner ON webhooks (owner, id);
CREATE TABLE webhook_deliveries (
    key INTEGER PRIMARY KEY,
    webhook INTEGER NOT NULL REFERENCES webhooks (key) ON DELETE CASCADE,
    id BLOB NOT NULL UNIQUE,
    body BLOB NOT NULL,
    attempts INTEGER NOT NULL,
    next_at INTEGER NOT NULL,
    row_sha256 BLOB NOT NULL
);
CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (next_at);
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook, key);
