-- A forum of questions and answers, after the public dump of Stack Exchange: {n} is the number of questions. Columns
-- depend on each other: a tag belongs to a board, a user's language to the country, the chance of an accepted answer to
-- the score. Activity grows with time, and few users have most of it. Questions, edits, badges and sessions lie in the
-- order of their time. So do answers, of which some come years after their question. Comments lie by question, tags of
-- questions by tag, votes and follows in no order. Votes and sessions are logs without a key.

-- An even draw from [0, 1), and two that prefer small numbers.
CREATE FUNCTION drawn(k bigint, seed bigint) RETURNS double precision LANGUAGE sql IMMUTABLE
    RETURN abs(hashint8extended(k, seed) % 1000000) / 1000000::double precision;
CREATE FUNCTION skewed(k bigint, seed bigint) RETURNS double precision LANGUAGE sql IMMUTABLE
    RETURN drawn(k, seed) * drawn(k, seed);
CREATE FUNCTION steep(k bigint, seed bigint) RETURNS double precision LANGUAGE sql IMMUTABLE
    RETURN drawn(k, seed) * drawn(k, seed) * drawn(k, seed);

-- When a part of all activity had happened.
CREATE FUNCTION moment(part double precision) RETURNS timestamp LANGUAGE sql IMMUTABLE
    RETURN timestamp '2019-01-01' + (part + sqrt(part)) * interval '1000 days';
CREATE FUNCTION asked_at(question integer) RETURNS timestamp LANGUAGE sql IMMUTABLE
    RETURN moment(question / {n}::double precision) + drawn(question, 101) * interval '10 hours';
CREATE FUNCTION answers_of(question integer) RETURNS integer LANGUAGE sql IMMUTABLE
    RETURN (ARRAY[0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 7])[
        1 + floor(drawn(question, 103) * 20)::integer];

-- The user at a place by activity. The number of users has no divisor in common with 7776, so each has one place.
CREATE FUNCTION author(draw double precision) RETURNS integer LANGUAGE sql IMMUTABLE
    RETURN (floor(draw * ({n} / 12 * 6 + 241))::bigint * 7776 % ({n} / 12 * 6 + 241))::integer + 1;

CREATE TABLE boards (board_id integer NOT NULL, language integer NOT NULL, board text NOT NULL);
INSERT INTO boards SELECT n, CASE WHEN n < 40 THEN 0 ELSE 1 + (n - 40) % 9 END, 'board ' || n
    FROM generate_series(0, 59) AS n;

CREATE TABLE tags (tag_id integer NOT NULL, board_id integer NOT NULL, tag text NOT NULL, wiki text);
INSERT INTO tags SELECT n, n / 40,
    (ARRAY['linear', 'graph', 'query', 'type', 'cell', 'sound', 'light', 'garden'])[1 + n % 8] || '-' || n,
    CASE WHEN n % 3 = 0 THEN repeat(md5(n::text), 8) END FROM generate_series(0, 2399) AS n;

CREATE TABLE users (user_id integer NOT NULL, joined date NOT NULL, country integer NOT NULL, language integer NOT NULL,
    reputation integer NOT NULL, seen date, name text NOT NULL, about text);
INSERT INTO users SELECT user_id, date '2018-10-01' + (user_id::bigint * 2080 / ({n} / 12 * 6 + 241))::integer, country,
    CASE WHEN drawn(user_id, 104) < 0.9 THEN country / 4 ELSE floor(drawn(user_id, 105) * 10)::integer END,
    CASE WHEN place > 50 AND drawn(user_id, 106) < 0.3 THEN 1 ELSE 1 + 900000 / (place + 5) END,
    CASE WHEN drawn(user_id, 107) < 0.85 THEN date '2024-06-24' - floor(skewed(user_id, 108) * 1800)::integer END,
    (ARRAY['Ada', 'Ana', 'Bob', 'Cleo', 'Dana', 'Emil', 'Finn', 'Gita', 'Hugo', 'Ines', 'Jo', 'Kim', 'Lars', 'Mia',
        'Nils', 'Olga', 'Pia', 'Raj', 'Sara', 'Tom'])[1 + user_id % 20]
    || (ARRAY['Berg', 'Cook', 'Diaz', 'Evans', 'Fox', 'Gray', 'Hill', 'Ito', 'Jung', 'Khan', 'Lind', 'Moss', 'Nowak',
        'Okoye', 'Park', 'Quist', 'Rossi', 'Sato', 'Tran', 'Wolf'])[1 + user_id / 20 % 20] || user_id,
    CASE WHEN drawn(user_id, 109) < 0.4 THEN
        substr(repeat(md5(user_id::text), 12), 1, 40 + floor(drawn(user_id, 110) * 340)::integer) END
    FROM (SELECT place, (place::bigint * 7776 % ({n} / 12 * 6 + 241))::integer + 1 AS user_id,
        floor(skewed(place, 111) * 40)::integer AS country
        FROM generate_series(0, {n} / 12 * 6 + 240) AS place) AS made ORDER BY 1;

CREATE TABLE questions (question_id integer NOT NULL, board_id integer NOT NULL, asked timestamp NOT NULL,
    user_id integer, accepted_id integer, score integer NOT NULL, views integer NOT NULL, answer_count integer NOT NULL,
    closed boolean NOT NULL, tags integer[] NOT NULL, title text NOT NULL, body text NOT NULL);
INSERT INTO questions SELECT n, board_id, asked_at(n),
    CASE WHEN drawn(n, 112) > 0.03 THEN author(skewed(n, 113)) END,
    CASE WHEN answer_count > 0 AND drawn(n, 114) < CASE WHEN score < 10 THEN 0.4 ELSE 0.8 END
        THEN n * 8 + 1 + floor(drawn(n, 115) * answer_count)::integer END,
    score, (score + 5) * (20 + floor(drawn(n, 116) * 400)::integer), answer_count,
    drawn(n, 117) < CASE WHEN score < 0 THEN 0.03 ELSE 0.004 END,
    ARRAY(SELECT board_id * 40 + (main_tag + stride * i) % 40 FROM generate_series(0, more_tags) AS i),
    (ARRAY['How to', 'Why does', 'What is', 'Where is', 'Can I'])[1 + n % 5] || ' '
        || substr(repeat(md5(n::text), 2), 1, 15 + floor(drawn(n, 118) * 45)::integer),
    (SELECT string_agg(encode(sha512((n::text || '.' || i)::bytea), 'hex'), ' ') FROM generate_series(1, pieces) AS i)
    FROM (SELECT n, answers_of(n) AS answer_count, floor(3 / (drawn(n, 119) + 0.004))::integer - 4 AS score,
        floor(skewed(n, 120) * 60)::integer AS board_id, floor(steep(n, 121) * 40)::integer AS main_tag,
        1 + floor(drawn(n, 122) * 9)::integer AS stride, floor(drawn(n, 123) * 4)::integer AS more_tags,
        CASE WHEN drawn(n, 124) < 0.04 THEN 47 ELSE 4 + floor(skewed(n, 125) * 16)::integer END AS pieces
        FROM generate_series(1, {n}) AS n) AS made;

CREATE TABLE answers (answer_id integer NOT NULL, question_id integer NOT NULL, answered timestamp NOT NULL,
    user_id integer, score integer NOT NULL, accepted boolean NOT NULL, body text NOT NULL);
INSERT INTO answers SELECT answer_id, question_id, answered,
    CASE WHEN drawn(answer_id, 126) > 0.03 THEN author(steep(answer_id, 127)) END,
    floor(2 / (drawn(answer_id, 128) + 0.004))::integer - 3 + CASE WHEN accepted THEN 4 ELSE 0 END, accepted,
    (SELECT string_agg(encode(sha512(('a' || answer_id || '.' || i)::bytea), 'hex'), ' ')
        FROM generate_series(1, 1 + floor(skewed(answer_id, 129) * 12)::integer) AS i)
    FROM (SELECT q.question_id * 8 + i AS answer_id, q.question_id,
        coalesce(q.accepted_id = q.question_id * 8 + i, false) AS accepted,
        q.asked + drawn(q.question_id * 8 + i, 130) * least(timestamp '2024-06-25' - q.asked,
            CASE WHEN drawn(q.question_id * 8 + i, 131) < 0.1 THEN interval '900 days'
                WHEN drawn(q.question_id * 8 + i, 131) < 0.3 THEN interval '60 days' ELSE interval '2 days' END)
            AS answered
        FROM questions AS q, generate_series(1, q.answer_count) AS i ORDER BY answered, answer_id) AS made;

CREATE TABLE comments (comment_id integer NOT NULL, question_id integer NOT NULL, answer_id integer,
    user_id integer, written timestamp NOT NULL, score integer NOT NULL, body text NOT NULL);
INSERT INTO comments SELECT comment_id, question_id,
    CASE WHEN answer_count > 0 AND drawn(k, 132) < 0.5
        THEN question_id * 8 + 1 + floor(drawn(k, 133) * answer_count)::integer END,
    CASE WHEN drawn(k, 134) > 0.02 THEN author(skewed(k, 135)) END, written, floor(steep(k, 136) * 12)::integer,
    substr(repeat(md5(k::text), 7), 1, 20 + floor(skewed(k, 137) * 200)::integer)
    FROM (SELECT question_id, answer_count, k, written, row_number() OVER (ORDER BY written, k) AS comment_id
        FROM (SELECT q.question_id, q.answer_count, q.question_id::bigint * 16 + i AS k,
            q.asked + steep(q.question_id::bigint * 16 + i, 138)
                * least(timestamp '2024-06-25' - q.asked, interval '400 days') AS written
            FROM questions AS q, generate_series(1, (ARRAY[0, 0, 1, 1, 2, 2, 3, 4, 6, 12])[
                1 + floor(drawn(q.question_id, 139) * 10)::integer]) AS i) AS made
        ) AS numbered ORDER BY question_id, comment_id;

CREATE TABLE votes (vote_id integer NOT NULL, question_id integer NOT NULL, answer_id integer, user_id integer NOT NULL,
    day date NOT NULL, kind smallint NOT NULL);
INSERT INTO votes SELECT v, question_id,
    CASE WHEN answers_of(question_id) > 0 AND drawn(v, 140) < 0.6
        THEN question_id * 8 + 1 + floor(drawn(v, 141) * answers_of(question_id))::integer END,
    author(skewed(v, 142)), asked + floor(steep(v, 143) * (date '2024-06-25' - asked))::integer,
    CASE WHEN drawn(v, 144) < 0.8 THEN 2 WHEN drawn(v, 144) < 0.9 THEN 3 WHEN drawn(v, 144) < 0.995 THEN 5 ELSE 12 END
    FROM (SELECT v, question_id, asked_at(question_id)::date AS asked
        FROM (SELECT v, (floor(skewed(v, 145) * {n})::bigint * 7919 % {n})::integer + 1 AS question_id
            FROM generate_series(1, {n} * 10) AS v OFFSET 0) AS hit OFFSET 0) AS made;

CREATE TABLE question_tags (question_id integer NOT NULL, tag_id integer NOT NULL);
INSERT INTO question_tags SELECT q.question_id, t FROM questions AS q, unnest(q.tags) AS t ORDER BY t, q.question_id;

CREATE TABLE edits (edit_id integer NOT NULL, question_id integer NOT NULL, user_id integer, edited timestamp NOT NULL,
    kind smallint NOT NULL, change jsonb NOT NULL);
INSERT INTO edits SELECT edit_id, question_id, CASE WHEN drawn(k, 146) > 0.1 THEN author(steep(k, 147)) END, edited,
    (ARRAY[5, 5, 5, 4, 6])[1 + floor(drawn(k, 148) * 5)::integer],
    jsonb_build_object('minor', drawn(k, 149) < 0.3,
        'reason', (ARRAY['typo', 'format', 'scope', 'spam'])[1 + floor(skewed(k, 150) * 4)::integer],
        'text', substr(repeat(md5(k::text), 22), 1, 60 + floor(skewed(k, 151) * 600)::integer))
    FROM (SELECT question_id, k, edited, row_number() OVER (ORDER BY edited, k) AS edit_id
        FROM (SELECT q.question_id, q.question_id::bigint * 16 + i AS k,
            q.asked + skewed(q.question_id::bigint * 16 + i, 152)
                * least(timestamp '2024-06-25' - q.asked, interval '700 days') AS edited
            FROM questions AS q, generate_series(1, (ARRAY[0, 0, 0, 0, 0, 1, 1, 1, 2, 4])[
                1 + floor(drawn(q.question_id, 153) * 10)::integer]) AS i) AS made
        ) AS numbered ORDER BY edit_id;

CREATE TABLE badges (user_id integer NOT NULL, badge integer NOT NULL, awarded date NOT NULL);
INSERT INTO badges SELECT author(skewed(b, 154)), floor(skewed(b, 155) * 60)::integer,
    moment(b / ({n} * 3 / 2)::double precision)::date FROM generate_series(1, {n} * 3 / 2) AS b;

CREATE TABLE follows (follower integer NOT NULL, followed integer NOT NULL, since date NOT NULL);
INSERT INTO follows SELECT follower, followed,
    date '2024-06-24' - floor(drawn(follower::bigint * 4194304 + followed, 156) * 2000)::integer
    FROM (SELECT DISTINCT author(skewed(f, 157)) AS follower, author(steep(f, 158)) AS followed
        FROM generate_series(1, {n} * 2) AS f) AS pairs WHERE follower <> followed
    ORDER BY hashint8extended(follower::bigint * 4194304 + followed, 159), follower, followed;

CREATE TABLE sessions (session_id integer NOT NULL, user_id integer, started timestamp NOT NULL,
    board_id integer NOT NULL, pages integer NOT NULL, seconds integer NOT NULL);
INSERT INTO sessions SELECT s, CASE WHEN drawn(s, 160) < 0.7 THEN author(skewed(s, 161)) END,
    moment(s / ({n} * 3)::double precision), floor(skewed(s, 162) * 60)::integer, pages,
    pages * (10 + floor(drawn(s, 163) * 90)::integer)
    FROM (SELECT s, 1 + floor(1 / (drawn(s, 164) + 0.02))::integer AS pages
        FROM generate_series(1, {n} * 3) AS s) AS made;

CREATE INDEX boards_key ON boards (board_id);
CREATE INDEX tags_key ON tags (tag_id);
CREATE INDEX tags_name ON tags (tag);
CREATE INDEX users_key ON users (user_id);
CREATE INDEX users_name ON users (lower(name) text_pattern_ops);
CREATE INDEX users_country ON users (country, language, reputation);
CREATE INDEX users_reputation ON users (reputation);
CREATE INDEX questions_key ON questions (question_id);
CREATE INDEX questions_board ON questions (board_id, score);
CREATE INDEX questions_asked ON questions (asked);
CREATE INDEX questions_user ON questions (user_id, asked);
CREATE INDEX questions_tags ON questions USING gin (tags);
CREATE INDEX questions_unanswered ON questions (board_id, asked) WHERE answer_count = 0;
CREATE INDEX questions_closed ON questions (asked) WHERE closed;
CREATE INDEX answers_key ON answers (answer_id);
CREATE INDEX answers_question ON answers (question_id, score);
CREATE INDEX answers_user ON answers (user_id, answered);
CREATE INDEX answers_answered ON answers (answered);
CREATE INDEX comments_key ON comments (comment_id);
CREATE INDEX comments_question ON comments (question_id);
CREATE INDEX comments_user ON comments (user_id, written);
CREATE INDEX comments_written ON comments (written);
CREATE INDEX votes_question ON votes (question_id, kind);
CREATE INDEX votes_user ON votes (user_id);
CREATE INDEX votes_day ON votes (day, kind);
CREATE INDEX question_tags_key ON question_tags (question_id, tag_id);
CREATE INDEX question_tags_tag ON question_tags (tag_id, question_id);
CREATE INDEX edits_key ON edits (edit_id);
CREATE INDEX edits_question ON edits (question_id, edited);
CREATE INDEX edits_edited ON edits (edited);
CREATE INDEX badges_badge ON badges (badge, awarded) INCLUDE (user_id);
CREATE INDEX badges_user ON badges (user_id);
CREATE INDEX follows_follower ON follows (follower, followed);
CREATE INDEX follows_followed ON follows (followed);
CREATE INDEX sessions_user ON sessions (user_id, started);
CREATE INDEX sessions_started ON sessions USING brin (started);
