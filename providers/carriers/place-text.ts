/** What a contact says who shares a place: its names, and where it is on a map. @returns nothing if it is nowhere. */
export function placeText(
  latitude: string | number | null | undefined,
  longitude: string | number | null | undefined,
  names: readonly (string | undefined)[] = [],
): string {
  const at = [latitude, longitude].map((degrees) =>
    degrees === '' ? Number.NaN : Number(degrees ?? Number.NaN),
  );
  if (!at.every(Number.isFinite)) return '';
  return [...names.filter(Boolean), `https://maps.google.com/?q=${at.join()}`].join('\n');
}
