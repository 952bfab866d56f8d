-- Thirty-four queries over events, as dashboards, support and accounts ask them. They were written down before the
-- method was tuned, and no constant was fitted to them.

-- name: events of the last hour by kind
SELECT kind, count(*), avg(millis) FROM events WHERE at >= timestamp '2025-10-27 22:00' GROUP BY 1;
-- name: events of the last day by kind
SELECT kind, count(*), avg(millis) FROM events WHERE at >= timestamp '2025-10-27' GROUP BY 1;
-- name: events of a fortnight by kind
SELECT kind, count(*), avg(millis) FROM events WHERE at >= timestamp '2025-10-14' GROUP BY 1;
-- name: events of a quarter by kind
SELECT kind, count(*), avg(millis) FROM events WHERE at >= timestamp '2025-07-30' GROUP BY 1;
-- name: events of all days by kind and status
SELECT kind, status, count(*), max(millis) FROM events GROUP BY 1, 2 ORDER BY 1, 2;
-- name: events by day
SELECT date_trunc('day', at), count(*), sum(amount) FROM events GROUP BY 1 ORDER BY 1;
-- name: server errors of all time
SELECT date_trunc('month', at), count(*), avg(millis) FROM events WHERE status = 500 GROUP BY 1;
-- name: missing pages of all time
SELECT page_id, count(*), avg(millis) FROM events WHERE status = 404 GROUP BY 1 ORDER BY 2 DESC LIMIT 20;
-- name: missing pages of a week
SELECT page_id, count(*) FROM events WHERE status = 404 AND at >= timestamp '2025-10-20' GROUP BY 1 ORDER BY 2 DESC LIMIT 20;
-- name: latest server errors
SELECT at, user_id, page_id, payload FROM events WHERE status = 500 ORDER BY at DESC LIMIT 20;
-- name: latest rare kind
SELECT at, user_id, page_id FROM events WHERE kind = 9 ORDER BY at DESC LIMIT 200;
-- name: latest slow events
SELECT at, user_id, millis FROM events WHERE millis > 19000 ORDER BY at DESC LIMIT 500;
-- name: the busiest user's last events
SELECT at, kind, payload FROM events WHERE user_id = 1 ORDER BY at DESC LIMIT 50;
-- name: all of the busiest users
SELECT user_id, count(*), sum(millis) FROM events WHERE user_id BETWEEN 1 AND 5 GROUP BY 1;
-- name: all of users in the middle
SELECT user_id, count(*), sum(millis) FROM events WHERE user_id BETWEEN 1000 AND 1100 GROUP BY 1;
-- name: a busy page
SELECT count(*), avg(millis) FROM events WHERE page_id = 0;
-- name: quiet pages
SELECT page_id, count(*), avg(millis) FROM events WHERE page_id BETWEEN 200 AND 240 GROUP BY 1;
-- name: count by user from an index alone
SELECT count(*) FROM events WHERE user_id BETWEEN 1 AND 200;
-- name: last time of each of some users
SELECT user_id, (SELECT max(at) FROM events WHERE events.user_id = users.user_id) FROM users
    WHERE country = 30 AND city = 601;
-- name: number of events in a time from an index alone
SELECT count(at) FROM events WHERE at BETWEEN timestamp '2025-03-01' AND timestamp '2025-06-01';
-- name: users of one city with their sessions
SELECT u.user_id, count(*) FROM users AS u JOIN sessions AS s ON s.user_id = u.user_id
    WHERE u.country = 5 AND u.city = 104 GROUP BY 1;
-- name: events of the users of one city
SELECT count(*), sum(e.amount) FROM users AS u JOIN events AS e ON e.user_id = u.user_id
    WHERE u.country = 40 AND u.city = 810;
-- name: events of the users of a country
SELECT u.city, count(*), sum(e.amount) FROM users AS u JOIN events AS e ON e.user_id = u.user_id
    WHERE u.country = 45 GROUP BY 1;
-- name: spending by plan and country
SELECT u.plan, u.country, sum(e.amount) FROM events AS e JOIN users AS u ON u.user_id = e.user_id
    WHERE e.amount IS NOT NULL GROUP BY 1, 2;
-- name: large amounts with their users
SELECT u.user_id, e.amount, e.at FROM events AS e JOIN users AS u ON u.user_id = e.user_id WHERE e.amount > 8900
    ORDER BY e.amount DESC;
-- name: refunds of a month with their events
SELECT r.reason, count(*), sum(e.amount) FROM refunds AS r JOIN events AS e ON e.event_id = r.event_id
    WHERE r.at >= timestamp '2025-05-01' AND r.at < timestamp '2025-06-01' GROUP BY 1;
-- name: refunds of all time with their events
SELECT r.reason, count(*), sum(e.amount) FROM refunds AS r JOIN events AS e ON e.event_id = r.event_id GROUP BY 1;
-- name: sessions of a day with their events
SELECT s.device, count(*), avg(e.millis) FROM sessions AS s JOIN events AS e ON e.session_id = s.session_id
    WHERE s.started >= timestamp '2025-04-01' AND s.started < timestamp '2025-04-02' GROUP BY 1;
-- name: sessions of a month with their events
SELECT s.device, count(*), avg(e.millis) FROM sessions AS s JOIN events AS e ON e.session_id = s.session_id
    WHERE s.started >= timestamp '2025-04-01' AND s.started < timestamp '2025-05-01' GROUP BY 1;
-- name: pages of a section with their events of a week
SELECT p.page_id, count(*) FROM pages AS p JOIN events AS e ON e.page_id = p.page_id WHERE p.section = 13
    AND e.at >= timestamp '2025-10-20' GROUP BY 1;
-- name: reading by section
SELECT p.section, sum(p.words), count(*) FROM events AS e JOIN pages AS p ON p.page_id = e.page_id
    WHERE e.at >= timestamp '2025-09-01' GROUP BY 1;
-- name: new users without a purchase
SELECT count(*) FROM users AS u WHERE u.joined < timestamp '2023-01-04'
    AND NOT EXISTS (SELECT FROM events AS e WHERE e.user_id = u.user_id AND e.amount IS NOT NULL);
-- name: users by their number of sessions
SELECT user_id, count(*) FROM sessions GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;
-- name: last session of users on the largest plan
SELECT u.user_id, l.started FROM users AS u CROSS JOIN LATERAL (SELECT started FROM sessions AS s
    WHERE s.user_id = u.user_id ORDER BY started DESC LIMIT 1) AS l WHERE u.plan = 2 AND u.country < 10;
