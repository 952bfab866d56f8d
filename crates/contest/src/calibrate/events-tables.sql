-- Events in the order of their time, of which few users and few pages have most: {n} is the number of events. Users are
-- skewed by the third power of a uniform number; a city belongs to one country, and a session to one user.
CREATE TABLE users (user_id integer NOT NULL, country integer NOT NULL, city integer NOT NULL,
    joined timestamp NOT NULL, plan integer NOT NULL, profile text NOT NULL);
INSERT INTO users SELECT n, c / 20, c, timestamp '2023-01-01' + n * interval '2 minutes',
    CASE WHEN n % 50 = 0 THEN 2 WHEN n % 7 = 0 THEN 1 ELSE 0 END, repeat('u', 90)
    FROM (SELECT n, (power(abs(hashint4extended(n, 31) % 100000) / 100000.0, 2) * 1000)::integer AS c
        FROM generate_series(1, {n} / 40 + 100) n) AS drawn;

CREATE TABLE pages (page_id integer NOT NULL, section integer NOT NULL, words integer NOT NULL, title text NOT NULL);
INSERT INTO pages SELECT n, n % 40, 100 + abs(hashint4extended(n, 32) % 3000), 'title ' || repeat('t', 50)
    FROM generate_series(0, {n} / 250 + 100) n;

CREATE TABLE sessions (session_id integer NOT NULL, user_id integer NOT NULL, started timestamp NOT NULL,
    device integer NOT NULL, agent text NOT NULL);
INSERT INTO sessions SELECT n,
    1 + (power(abs(hashint4extended(n, 33) % 1000000) / 1000000.0, 3) * ({n} / 40 + 99))::integer,
    timestamp '2025-01-01' + n * (interval '300 days' / ({n} / 8 + 1)), abs(hashint4extended(n, 34) % 12), repeat('g', 60)
    FROM generate_series(1, {n} / 8 + 1) n;

CREATE TABLE events (event_id bigint NOT NULL, at timestamp NOT NULL, session_id integer NOT NULL,
    user_id integer NOT NULL, page_id integer NOT NULL, kind integer NOT NULL, status integer NOT NULL,
    millis integer NOT NULL, amount integer, payload text NOT NULL);
INSERT INTO events SELECT n, timestamp '2025-01-01' + n * (interval '300 days' / {n}), s.session_id, s.user_id,
    (power(abs(hashint8extended(n, 35) % 1000000) / 1000000.0, 4) * ({n} / 250 + 99))::integer,
    CASE WHEN abs(hashint8extended(n, 36) % 1000) < 2 THEN 9 ELSE (abs(hashint8extended(n, 37) % 100) / 30)::integer END,
    CASE WHEN abs(hashint8extended(n, 38) % 2000) = 0 THEN 500 WHEN abs(hashint8extended(n, 38) % 60) = 0 THEN 404
        ELSE 200 END,
    (power(abs(hashint8extended(n, 39) % 1000000) / 1000000.0, 6) * 20000)::integer,
    CASE WHEN abs(hashint8extended(n, 40) % 40) = 0 THEN abs(hashint8extended(n, 41) % 9000)::integer END, repeat('e', 60)
    FROM generate_series(1, {n}) n JOIN sessions AS s ON s.session_id = 1 + (n - 1) / 8 ORDER BY n;

CREATE TABLE refunds (event_id bigint NOT NULL, at timestamp NOT NULL, reason integer NOT NULL, note text NOT NULL);
INSERT INTO refunds SELECT event_id, at + interval '3 days', abs(hashint8extended(event_id, 42) % 6), repeat('r', 40)
    FROM events WHERE amount IS NOT NULL AND abs(hashint8extended(event_id, 43) % 10) = 0;

CREATE INDEX users_key ON users (user_id);
CREATE INDEX users_city ON users (country, city);
CREATE INDEX users_joined ON users (joined);
CREATE INDEX pages_key ON pages (page_id);
CREATE INDEX pages_section ON pages (section);
CREATE INDEX sessions_key ON sessions (session_id);
CREATE INDEX sessions_user ON sessions (user_id, started);
CREATE INDEX sessions_started ON sessions (started);
CREATE INDEX events_key ON events (event_id);
CREATE INDEX events_at ON events (at);
CREATE INDEX events_user ON events (user_id, at);
CREATE INDEX events_page ON events (page_id);
CREATE INDEX events_session ON events (session_id);
CREATE INDEX events_status ON events (status);
CREATE INDEX events_amount ON events (amount);
CREATE INDEX refunds_event ON refunds (event_id);
CREATE INDEX refunds_at ON refunds (at);
