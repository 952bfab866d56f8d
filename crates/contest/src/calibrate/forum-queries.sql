-- Thirty-six queries over a forum, as its pages, its moderators and its analysts ask them. They were written down after
-- the method of calibrate, its candidates and its known sets were fixed, and were not used to choose any of them.

-- name: a question with its tags
SELECT q.title, q.body, t.tag FROM questions AS q JOIN question_tags AS k ON k.question_id = q.question_id
    JOIN tags AS t ON t.tag_id = k.tag_id WHERE q.question_id = 81001;
-- name: answers of a question with their authors
SELECT a.answer_id, a.score, a.body, u.name, u.reputation FROM answers AS a LEFT JOIN users AS u
    ON u.user_id = a.user_id WHERE a.question_id = 52888 ORDER BY a.accepted DESC, a.score DESC;
-- name: page of a tag by score
SELECT question_id, title, score FROM questions WHERE board_id = 3 AND tags @> ARRAY[125] ORDER BY score DESC LIMIT 30;
-- name: newest questions of a popular tag
SELECT question_id, title, asked FROM questions WHERE tags @> ARRAY[40] ORDER BY asked DESC LIMIT 20;
-- name: unanswered questions of a tag
SELECT q.question_id, q.title, q.asked FROM questions AS q JOIN question_tags AS k ON k.question_id = q.question_id
    WHERE k.tag_id = 83 AND q.board_id = 2 AND q.answer_count = 0 ORDER BY q.asked DESC LIMIT 25;
-- name: last posts of a user
SELECT post, posted, score FROM (SELECT question_id AS post, asked AS posted, score FROM questions WHERE user_id = 7777
    UNION ALL SELECT answer_id, answered, score FROM answers WHERE user_id = 7777) AS posts
    ORDER BY posted DESC LIMIT 20;
-- name: top users of a board in a month
SELECT a.user_id, sum(a.score), count(*) FROM questions AS q JOIN answers AS a ON a.question_id = q.question_id
    WHERE q.board_id = 4 AND a.answered >= timestamp '2023-05-01' AND a.answered < timestamp '2023-06-01'
    GROUP BY 1 ORDER BY 2 DESC LIMIT 20;
-- name: accepted answers of a board by language of their authors
SELECT u.language, count(*), avg(a.score) FROM questions AS q JOIN answers AS a ON a.answer_id = q.accepted_id
    JOIN users AS u ON u.user_id = a.user_id WHERE q.board_id = 30 GROUP BY 1;
-- name: answers given a year after the question
SELECT q.board_id, count(*), avg(a.score) FROM questions AS q JOIN answers AS a ON a.question_id = q.question_id
    WHERE a.answered > q.asked + interval '365 days' GROUP BY 1;
-- name: answers of two weeks
SELECT count(*), sum(score) FROM answers WHERE answered >= timestamp '2023-11-06' AND answered < timestamp '2023-11-20';
-- name: bodies of the answers of a year
SELECT count(*), sum(length(body)) FROM answers WHERE answered >= timestamp '2023-01-01'
    AND answered < timestamp '2024-01-01';
-- name: bodies of a range of questions
SELECT sum(length(body)), max(length(body)) FROM questions WHERE question_id BETWEEN 40000 AND 43000;
-- name: voters of three weeks
SELECT count(DISTINCT user_id), count(*) FROM votes WHERE day >= date '2022-03-01' AND day < date '2022-03-22';
-- name: most voted questions of a quarter
SELECT question_id, count(*) FROM votes WHERE day >= date '2022-07-01' AND day < date '2022-10-01' AND kind = 2
    GROUP BY 1 ORDER BY 2 DESC LIMIT 20;
-- name: busy voters of half a year
SELECT user_id, count(*), count(answer_id) FROM votes WHERE day >= date '2024-01-01' GROUP BY 1 HAVING count(*) > 40;
-- name: votes by month and kind from an index alone
SELECT date_trunc('month', day::timestamp), kind, count(*) FROM votes WHERE day >= date '2021-01-01'
    AND day < date '2023-01-01' GROUP BY 1, 2;
-- name: votes on newer questions by board
SELECT q.board_id, v.kind, count(*) FROM votes AS v JOIN questions AS q ON q.question_id = v.question_id
    WHERE q.asked >= timestamp '2022-01-01' GROUP BY 1, 2;
-- name: closed questions of a year with their askers
SELECT q.question_id, q.title, u.name FROM questions AS q LEFT JOIN users AS u ON u.user_id = q.user_id
    WHERE q.closed AND q.asked >= timestamp '2023-01-01' AND q.asked < timestamp '2024-01-01'
    ORDER BY q.views DESC LIMIT 50;
-- name: comments on closed questions
SELECT count(*), avg(length(body)) FROM comments WHERE question_id IN (SELECT question_id FROM questions WHERE closed);
-- name: comments by a user or on some questions
SELECT count(*), sum(score) FROM comments WHERE user_id = 15553 OR question_id BETWEEN 30000 AND 30040;
-- name: askers of a country and its language who never answered
SELECT count(*), sum(u.reputation) FROM users AS u WHERE u.country = 5 AND u.language = 1
    AND EXISTS (SELECT FROM questions AS q WHERE q.user_id = u.user_id)
    AND NOT EXISTS (SELECT FROM answers AS a WHERE a.user_id = u.user_id);
-- name: known users without a recent session
SELECT count(*), max(u.reputation) FROM users AS u WHERE u.reputation > 400 AND NOT EXISTS (SELECT FROM sessions AS s
    WHERE s.user_id = u.user_id AND s.started >= timestamp '2024-03-01');
-- name: last session of each user of a country
SELECT count(*), sum(pages) FROM (SELECT DISTINCT ON (s.user_id) s.user_id, s.pages FROM users AS u
    JOIN sessions AS s ON s.user_id = u.user_id WHERE u.country = 20 ORDER BY s.user_id, s.started DESC) AS latest;
-- name: sessions of a day by board
SELECT board_id, count(*), sum(pages) FROM sessions WHERE started >= timestamp '2023-09-12'
    AND started < timestamp '2023-09-13' GROUP BY 1;
-- name: newest questions of each tag of a board
SELECT t.tag, newest.question_id, newest.title FROM tags AS t CROSS JOIN LATERAL (SELECT q.question_id, q.title
    FROM question_tags AS k JOIN questions AS q ON q.question_id = k.question_id WHERE k.tag_id = t.tag_id
    ORDER BY q.asked DESC LIMIT 3) AS newest WHERE t.board_id = 12;
-- name: best answerers of each country
SELECT country, user_id, points FROM (SELECT u.country, u.user_id, sum(a.score) AS points,
    rank() OVER (PARTITION BY u.country ORDER BY sum(a.score) DESC) AS place FROM users AS u
    JOIN answers AS a ON a.user_id = u.user_id WHERE a.answered >= timestamp '2024-01-01' GROUP BY 1, 2) AS ranked
    WHERE place < 4;
-- name: time between the edits of a question
SELECT count(gap), avg(gap) FROM (SELECT edited - lag(edited) OVER (PARTITION BY question_id ORDER BY edited) AS gap
    FROM edits WHERE kind = 5) AS gaps;
-- name: reasons of minor edits on a board
SELECT e.change ->> 'reason', count(*), avg(length(e.change ->> 'text')) FROM questions AS q
    JOIN edits AS e ON e.question_id = q.question_id WHERE q.board_id = 9 AND e.change ->> 'minor' = 'true' GROUP BY 1;
-- name: users with many answers from an index alone
SELECT count(*) FROM (SELECT user_id FROM answers GROUP BY 1 HAVING count(*) > 20) AS active;
-- name: answers by tag
SELECT k.tag_id, count(*), avg(a.score) FROM question_tags AS k JOIN answers AS a ON a.question_id = k.question_id
    GROUP BY 1;
-- name: answers on a tag by users of a language
SELECT u.country, count(*), sum(a.score) FROM tags AS t JOIN question_tags AS k ON k.tag_id = t.tag_id
    JOIN questions AS q ON q.question_id = k.question_id JOIN answers AS a ON a.question_id = q.question_id
    JOIN users AS u ON u.user_id = a.user_id WHERE t.tag = 'graph-41' AND q.score > 5 AND u.language = 2 GROUP BY 1;
-- name: users by the beginning of their name
SELECT user_id, name, reputation FROM users WHERE lower(name) LIKE 'mia%' ORDER BY reputation DESC LIMIT 10;
-- name: badges of a user by name
SELECT u.user_id, b.badge, b.awarded FROM users AS u JOIN badges AS b ON b.user_id = u.user_id
    WHERE lower(u.name) = 'rajjung7777';
-- name: holders of a badge in a year
SELECT count(DISTINCT user_id) FROM badges WHERE badge = 7 AND awarded >= date '2022-01-01'
    AND awarded < date '2023-01-01';
-- name: countries of the users that users of a country follow
SELECT o.country, count(*) FROM users AS u JOIN follows AS f ON f.follower = u.user_id
    JOIN users AS o ON o.user_id = f.followed WHERE u.country = 33 GROUP BY 1;
-- name: users followed by the users that a user follows
SELECT o.followed, count(*) FROM follows AS f JOIN follows AS o ON o.follower = f.followed WHERE f.follower = 1
    GROUP BY 1 ORDER BY 2 DESC LIMIT 10;
