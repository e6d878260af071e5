/**
 * The conversation after or before the one that is open, by their addresses. Who answers or closes a conversation goes on from
 * where it was in the list, though it has left the list or moved to its beginning.
 * @param remembered the list when the conversation was opened.
 */
export function neighbourOf(
  shown: readonly string[],
  remembered: readonly string[],
  opened: string | undefined,
  by: 1 | -1,
): string | undefined {
  const now = opened === undefined ? -1 : shown.indexOf(opened);
  const was = opened === undefined ? -1 : remembered.indexOf(opened);
  if (now < 0 && was < 0) return shown[0];
  if (now >= was) return shown[now + by];
  const after = by > 0 ? remembered.slice(was + 1) : remembered.slice(0, was).toReversed();
  return after.find((address) => address !== opened && shown.includes(address));
}
