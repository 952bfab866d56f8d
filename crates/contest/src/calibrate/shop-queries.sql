-- Thirty-four queries over a shop, as its pages, its office and its reports ask them. They were written down before
-- candidates and decision of calibrate were changed to what they are, and no constant was fitted to them.

-- name: a purchase with its items
SELECT i.line, p.title, i.quantity, i.price FROM items AS i JOIN products AS p ON p.product_id = i.product_id
    WHERE i.purchase_id = 31000;
-- name: page of a category by price
SELECT product_id, title, price FROM products WHERE category_id = 120 ORDER BY price LIMIT 24;
-- name: page of a department by price
SELECT p.product_id, p.title, p.price FROM products AS p JOIN categories AS c ON c.category_id = p.category_id
    WHERE c.department_id = 5 AND p.colour = 'oak' ORDER BY p.price LIMIT 24;
-- name: products of the brands of a country
SELECT b.brand, count(*), avg(p.price) FROM brands AS b JOIN products AS p ON p.brand_id = b.brand_id
    WHERE b.country = 11 GROUP BY 1;
-- name: folding things of one colour
SELECT count(*), min(price) FROM products WHERE title LIKE 'folding%' AND colour = 'steel';
-- name: heavy products of cheap categories
SELECT category_id, count(*) FROM products WHERE category_id < 40 AND grams > 25000 GROUP BY 1;
-- name: descriptions of a range of products
SELECT sum(length(description)) FROM products WHERE product_id BETWEEN 3000 AND 5000;
-- name: last purchases of a busy customer
SELECT purchase_id, bought, total FROM purchases WHERE customer_id = 1 ORDER BY bought DESC LIMIT 20;
-- name: all purchases of some customers
SELECT customer_id, count(*), sum(total) FROM purchases WHERE customer_id BETWEEN 400 AND 480 GROUP BY 1;
-- name: open purchases with their customers
SELECT c.country, count(*), sum(p.total) FROM purchases AS p JOIN customers AS c ON c.customer_id = p.customer_id
    WHERE p.state = 0 GROUP BY 1;
-- name: returned purchases by month
SELECT date_trunc('month', bought), count(*), sum(total) FROM purchases WHERE state = 3 GROUP BY 1 ORDER BY 1;
-- name: purchases of a day
SELECT count(*), sum(total) FROM purchases WHERE bought >= timestamp '2024-05-06' AND bought < timestamp '2024-05-07';
-- name: purchases of a week with their items
SELECT sum(i.price * i.quantity) FROM purchases AS p JOIN items AS i ON i.purchase_id = p.purchase_id
    WHERE p.bought >= timestamp '2024-05-06' AND p.bought < timestamp '2024-05-13';
-- name: purchases of a quarter with their items by category
SELECT r.category_id, sum(i.price * i.quantity) FROM purchases AS p JOIN items AS i ON i.purchase_id = p.purchase_id
    JOIN products AS r ON r.product_id = i.product_id
    WHERE p.bought >= timestamp '2023-07-01' AND p.bought < timestamp '2023-10-01' GROUP BY 1;
-- name: revenue by department
SELECT d.department, sum(i.price * i.quantity) FROM items AS i JOIN products AS p ON p.product_id = i.product_id
    JOIN categories AS c ON c.category_id = p.category_id JOIN departments AS d ON d.department_id = c.department_id
    GROUP BY 1 ORDER BY 2 DESC;
-- name: revenue of one category by month
SELECT date_trunc('month', u.bought), sum(i.price) FROM products AS p JOIN items AS i ON i.product_id = p.product_id
    JOIN purchases AS u ON u.purchase_id = i.purchase_id WHERE p.category_id = 250 GROUP BY 1;
-- name: revenue of one store in a year
SELECT count(*), sum(total) FROM purchases WHERE store_id = 77 AND bought >= timestamp '2024-01-01'
    AND bought < timestamp '2025-01-01';
-- name: revenue of the stores of a country
SELECT s.store_id, sum(p.total) FROM stores AS s JOIN purchases AS p ON p.store_id = s.store_id WHERE s.country = 4
    GROUP BY 1;
-- name: customers of a city and its language
SELECT count(*), min(born) FROM customers WHERE country = 12 AND city = 490 AND language = 4;
-- name: purchases of the customers of a city and its language
SELECT count(*), sum(p.total) FROM customers AS c JOIN purchases AS p ON p.customer_id = c.customer_id
    WHERE c.country = 20 AND c.city = 815 AND c.language = 6;
-- name: purchases of old customers of a country
SELECT c.city, sum(p.total) FROM customers AS c JOIN purchases AS p ON p.customer_id = c.customer_id
    WHERE c.country = 7 AND c.born < date '1950-01-01' GROUP BY 1;
-- name: customers without a purchase since a year
SELECT count(*) FROM customers AS c WHERE c.country = 28 AND NOT EXISTS (SELECT FROM purchases AS p
    WHERE p.customer_id = c.customer_id AND p.bought >= timestamp '2024-10-01');
-- name: the best customers of all time
SELECT customer_id, sum(total) FROM purchases GROUP BY 1 ORDER BY 2 DESC LIMIT 50;
-- name: gifts with their products
SELECT p.category_id, count(*) FROM items AS i JOIN products AS p ON p.product_id = i.product_id WHERE i.gift GROUP BY 1;
-- name: items of a popular product
SELECT count(*), avg(quantity) FROM items WHERE product_id = 1;
-- name: items of rare products
SELECT product_id, count(*), sum(price) FROM items WHERE product_id BETWEEN 9000 AND 9200 GROUP BY 1;
-- name: bought together with a product
SELECT o.product_id, count(*) FROM items AS i JOIN items AS o ON o.purchase_id = i.purchase_id
    WHERE i.product_id = 2500 AND o.product_id <> 2500 GROUP BY 1 ORDER BY 2 DESC LIMIT 10;
-- name: latest reviews of a product
SELECT written, stars, body FROM reviews WHERE product_id = 12 ORDER BY written DESC LIMIT 10;
-- name: bad reviews of a category
SELECT p.product_id, count(*) FROM products AS p JOIN reviews AS r ON r.product_id = p.product_id
    WHERE p.category_id = 30 AND r.stars < 2 GROUP BY 1 ORDER BY 2 DESC LIMIT 20;
-- name: reviews of customers who bought the product
SELECT count(*), avg(r.stars) FROM reviews AS r WHERE r.written >= timestamp '2025-08-01' AND EXISTS (SELECT
    FROM purchases AS u JOIN items AS i ON i.purchase_id = u.purchase_id WHERE u.customer_id = r.customer_id
    AND i.product_id = r.product_id);
-- name: stars by brand of a department
SELECT p.brand_id, avg(r.stars), count(*) FROM categories AS c JOIN products AS p ON p.category_id = c.category_id
    JOIN reviews AS r ON r.product_id = p.product_id WHERE c.department_id = 8 GROUP BY 1;
-- name: missing stock of a store
SELECT p.title FROM stock AS s JOIN products AS p ON p.product_id = s.product_id WHERE s.store_id = 300 AND s.pieces = 0;
-- name: pieces of a category in a country
SELECT s.store_id, sum(k.pieces) FROM stores AS s JOIN stock AS k ON k.store_id = s.store_id
    JOIN products AS p ON p.product_id = k.product_id WHERE s.country = 17 AND p.category_id = 4 GROUP BY 1;
-- name: number of purchases by customer from an index alone
SELECT count(*) FROM (SELECT customer_id FROM purchases WHERE customer_id < 3000 GROUP BY 1 HAVING count(*) > 9) AS busy;
