import { z } from 'zod';

/** Any value of a JSON document. A named schema without recursion, because generators of clients do not compile anonymous ones. */
export const JsonValue = z.unknown().meta({ id: 'JsonValue', description: 'Any JSON value.' });
