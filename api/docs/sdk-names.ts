/**
 * The name of an operation in the SDKs: `sendMessage` of the tag Messages is `messages.send`, `getLinePace` of Lines is
 * `lines.getPace`.
 */
export function sdkMethod({ tag, operationId }: { tag: string; operationId: string }): {
  group: string;
  method: string;
} {
  const pascal = tag
    .split(/[ -]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase())
    .join('');
  const singular = pascal.replace(/s$/, '');
  const method = [pascal, singular].reduce(
    (id, noun) => (id === operationId ? id.replace(new RegExp(`(?<=[a-z])${noun}(?=[A-Z]|$)`), '') : id),
    operationId,
  );
  return { group: pascal.charAt(0).toLowerCase() + pascal.slice(1), method };
}

/** The Python form of a name: `getPace` becomes `get_pace`. */
export const snakeCase = (name: string): string =>
  name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toLowerCase();
