-- A shop with wide rows and text, as a snowflake: {n} is the number of purchases. Columns depend on each other: a city
-- belongs to a country, which has a language; a category has the brands that make it and a range of prices. Purchases
-- lie nearly in the order of their time, and few customers and few products have most of them.
CREATE TABLE departments (department_id integer NOT NULL, department text NOT NULL);
INSERT INTO departments SELECT n, 'department ' || n FROM generate_series(0, 11) n;

CREATE TABLE categories (category_id integer NOT NULL, department_id integer NOT NULL, category text NOT NULL);
INSERT INTO categories SELECT n, n / 25, 'category ' || n FROM generate_series(0, 299) n;

CREATE TABLE brands (brand_id integer NOT NULL, country integer NOT NULL, brand text NOT NULL);
INSERT INTO brands SELECT n, abs(hashint4extended(n, 61) % 30), 'brand ' || n FROM generate_series(0, 1499) n;

CREATE TABLE products (product_id integer NOT NULL, category_id integer NOT NULL, brand_id integer NOT NULL,
    price integer NOT NULL, colour text NOT NULL, grams integer, title text NOT NULL, description text NOT NULL);
INSERT INTO products SELECT n, c, c * 5 + abs(hashint4extended(n, 62) % 5),
    100 + c * 20 + abs(hashint4extended(n, 63) % 2000),
    (ARRAY['black', 'white', 'grey', 'blue', 'red', 'green', 'oak', 'steel'])[1 + abs(hashint4extended(n, 64) % 8)],
    CASE WHEN n % 3 > 0 THEN 50 + abs(hashint4extended(n, 65) % 30000) END,
    (ARRAY['plain', 'heavy', 'light', 'folding', 'small', 'large'])[1 + abs(hashint4extended(n, 66) % 6)] || ' thing ' || n,
    repeat(md5(n::text), 18)
    FROM (SELECT n, (power(abs(hashint4extended(n, 67) % 100000) / 100000.0, 2) * 299)::integer AS c
        FROM generate_series(1, {n} / 15 + 200) n) AS drawn;

CREATE TABLE stores (store_id integer NOT NULL, country integer NOT NULL, size integer NOT NULL, address text NOT NULL);
INSERT INTO stores SELECT n, n % 30, abs(hashint4extended(n, 68) % 4), repeat('s', 100) FROM generate_series(0, 599) n;

CREATE TABLE customers (customer_id integer NOT NULL, country integer NOT NULL, city integer NOT NULL,
    language integer NOT NULL, born date NOT NULL, email text NOT NULL, remark text);
INSERT INTO customers SELECT n, city / 40, city, city / 120, date '1940-01-01' + abs(hashint4extended(n, 69) % 24000)::integer,
    'customer' || n || '@example.org', CASE WHEN n % 4 = 0 THEN repeat(md5(n::text), 20) END
    FROM (SELECT n, (power(abs(hashint4extended(n, 70) % 100000) / 100000.0, 2) * 1199)::integer AS city
        FROM generate_series(1, {n} / 8 + 200) n) AS drawn;

CREATE TABLE purchases (purchase_id integer NOT NULL, customer_id integer NOT NULL, store_id integer,
    bought timestamp NOT NULL, state integer NOT NULL, total integer NOT NULL, delivery text NOT NULL);
INSERT INTO purchases SELECT n,
    1 + (power(abs(hashint4extended(n, 71) % 1000000) / 1000000.0, 2) * ({n} / 8 + 199))::integer,
    CASE WHEN n % 5 < 2 THEN abs(hashint4extended(n, 72) % 600)::integer END,
    timestamp '2022-01-01' + n * (interval '1400 days' / {n}) + abs(hashint4extended(n, 73) % 200) * interval '1 hour',
    CASE WHEN n > {n} - {n} / 100 THEN 0 WHEN abs(hashint4extended(n, 74) % 50) = 0 THEN 3 ELSE 2 END,
    abs(hashint4extended(n, 75) % 90000), repeat(md5(n::text), 3)
    FROM generate_series(1, {n}) n;

CREATE TABLE items (purchase_id integer NOT NULL, line integer NOT NULL, product_id integer NOT NULL,
    quantity integer NOT NULL, price integer NOT NULL, gift boolean NOT NULL);
INSERT INTO items SELECT n, i,
    1 + (power(abs(hashint8extended(n::bigint * 4 + i, 76) % 1000000) / 1000000.0, 3) * ({n} / 15 + 199))::integer,
    1 + abs(hashint8extended(n::bigint * 4 + i, 77) % 3), abs(hashint8extended(n::bigint * 4 + i, 78) % 8000),
    abs(hashint8extended(n::bigint * 4 + i, 79) % 200) = 0
    FROM generate_series(1, {n}) n, generate_series(1, 1 + n % 4) i ORDER BY n, i;

CREATE TABLE reviews (review_id integer NOT NULL, product_id integer NOT NULL, customer_id integer NOT NULL,
    written timestamp NOT NULL, stars integer NOT NULL, body text NOT NULL);
INSERT INTO reviews SELECT n,
    1 + (power(abs(hashint4extended(n, 80) % 1000000) / 1000000.0, 3) * ({n} / 15 + 199))::integer,
    1 + abs(hashint4extended(n, 81) % ({n} / 8 + 200)), timestamp '2022-02-01' + n * (interval '1380 days' / ({n} / 8 + 1)),
    CASE WHEN abs(hashint4extended(n, 82) % 100) < 70 THEN 5 ELSE (abs(hashint4extended(n, 83) % 5))::integer END,
    repeat(md5(n::text), 12)
    FROM generate_series(1, {n} / 8 + 1) n;

CREATE TABLE stock (store_id integer NOT NULL, product_id integer NOT NULL, pieces integer NOT NULL);
INSERT INTO stock SELECT abs(hashint8extended(n, 84) % 600), 1 + abs(hashint8extended(n, 85) % ({n} / 15 + 200)),
    abs(hashint8extended(n, 86) % 40) FROM generate_series(1, {n}) n;

CREATE INDEX categories_key ON categories (category_id);
CREATE INDEX brands_key ON brands (brand_id);
CREATE INDEX products_key ON products (product_id);
CREATE INDEX products_category ON products (category_id, price);
CREATE INDEX products_brand ON products (brand_id);
CREATE INDEX stores_key ON stores (store_id);
CREATE INDEX customers_key ON customers (customer_id);
CREATE INDEX customers_city ON customers (country, city);
CREATE INDEX customers_born ON customers (born);
CREATE INDEX purchases_key ON purchases (purchase_id);
CREATE INDEX purchases_customer ON purchases (customer_id, bought);
CREATE INDEX purchases_bought ON purchases (bought);
CREATE INDEX purchases_store ON purchases (store_id);
CREATE INDEX purchases_state ON purchases (state);
CREATE INDEX items_key ON items (purchase_id, line);
CREATE INDEX items_product ON items (product_id);
CREATE INDEX reviews_product ON reviews (product_id, written);
CREATE INDEX reviews_customer ON reviews (customer_id);
CREATE INDEX stock_store ON stock (store_id, product_id);
CREATE INDEX stock_product ON stock (product_id);
