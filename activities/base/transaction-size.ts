/**
 * The leads, drips or notifications that one transaction processes. More would keep its locks for too long, and the rows of
 * an import would survive more garbage collections.
 */
export const ROWS_PER_TRANSACTION = 500;
