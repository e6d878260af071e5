/** @returns the keys by id; or what is wrong with them: the id of a malformed key, never its content. */
function keysOf(text: string): Map<string, Buffer> | string {
  const ring = new Map<string, Buffer>();
  for (const [index, entry] of text.split(',').entries()) {
    const [, id = '', base64 = ''] = /^([\w-]+):([A-Za-z0-9+/_-]+=*)$/.exec(entry.trim()) ?? [];
    if (id === '') return `entry ${index + 1} must have the form id:base64`;
    const key = Buffer.from(base64, 'base64');
    if (key.length !== 32) return `the key ${id} has ${key.length} bytes instead of 32`;
    if (ring.has(id)) return `the id ${id} occurs twice`;
    ring.set(id, key);
  }
  return ring;
}

/** What is wrong with the keys of an environment variable; null: nothing. */
export function keyRingProblem(text: string): string | null {
  const keys = keysOf(text);
  return typeof keys === 'string' ? keys : null;
}

/**
 * Parses the keys of an environment variable: `id:base64,id2:base64`, 32 bytes each. The first one encrypts or signs,
 * all decrypt or verify.
 * @param variable the name of the variable, for errors.
 * @throws with the id of a malformed key, never with its content.
 */
export function readKeyRing(variable: string, text: string): Map<string, Buffer> {
  const keys = keysOf(text);
  if (typeof keys === 'string') throw new Error(`${variable}: ${keys}`);
  return keys;
}
