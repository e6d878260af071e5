/** What may be uploaded (specification §4.3), and its media type. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  mp3: 'audio/mpeg',
  m4a: 'audio/mp4',
  wav: 'audio/wav',
  aac: 'audio/aac',
  ogg: 'audio/ogg',
  caf: 'audio/x-caf',
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  heic: 'image/heic',
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
  pdf: 'application/pdf',
};

export const ALLOWED_EXTENSIONS: readonly string[] = Object.keys(MEDIA_TYPES);

/** The media type of a file by its name; null when it may not be uploaded. */
export function mediaTypeOf(name: string): string | null {
  const extension = /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase();
  return extension !== undefined && Object.hasOwn(MEDIA_TYPES, extension)
    ? (MEDIA_TYPES[extension] ?? null)
    : null;
}

/** What an allowed file may turn out to be beyond its extension, as `file-type` names it: one container has several names. */
const OTHER_NAMES = 'm4v 3gp 3g2 mkv oga ogv ogx opus spx mp2 mp1 apng heif avif'.split(' ');

/**
 * Whether content may be uploaded. The name alone decides over the type (specification §4.3), and phones name a PNG
 * `photo.jpg`; what is none of the allowed types, a program for one, is refused under any name.
 */
export const isAllowedContent = (type: string): boolean =>
  ALLOWED_EXTENSIONS.includes(type) || OTHER_NAMES.includes(type);

export const isAudio = (contentType: string | null): boolean => contentType?.startsWith('audio/') ?? false;
