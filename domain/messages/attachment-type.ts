/** The allowed file extensions and their media types. */
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

/** The media type for a file name; null if its extension is not allowed. */
export function mediaTypeOf(name: string): string | null {
  const extension = extensionOf(name);
  return Object.hasOwn(MEDIA_TYPES, extension) ? (MEDIA_TYPES[extension] ?? null) : null;
}

/** Further types of files that phones send, by media type. */
const PHONE_TYPES: Readonly<Record<string, string>> = {
  'application/ics': 'ics',
  'application/msword': 'doc',
  'application/rtf': 'rtf',
  'application/vcard': 'vcf',
  'application/vnd.apple.pkpass': 'pkpass',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.ms-powerpoint': 'ppt',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/x-pdf': 'pdf',
  'application/zip': 'zip',
  'audio/3gpp': '3gp',
  'audio/3gpp2': '3g2',
  'audio/ac3': 'ac3',
  'audio/amr': 'amr',
  'audio/amr-nb': 'amr',
  'audio/amr-wb': 'awb',
  'audio/basic': 'au',
  'audio/flac': 'flac',
  'audio/mp3': 'mp3',
  'audio/opus': 'opus',
  'audio/vnd.wave': 'wav',
  'audio/vorbis': 'ogg',
  'audio/wave': 'wav',
  'audio/webm': 'weba',
  'audio/x-m4a': 'm4a',
  'audio/x-wav': 'wav',
  'image/avif': 'avif',
  'image/bmp': 'bmp',
  'image/heif': 'heif',
  'image/jpg': 'jpg',
  'image/pjpeg': 'jpg',
  'image/svg+xml': 'svg',
  'image/tiff': 'tiff',
  'image/vnd.wap.wbmp': 'wbmp',
  'image/x-ms-bmp': 'bmp',
  'image/x-png': 'png',
  'text/calendar': 'ics',
  'text/csv': 'csv',
  'text/directory': 'vcf',
  'text/html': 'html',
  'text/plain': 'txt',
  'text/richtext': 'rtx',
  'text/rtf': 'rtf',
  'text/vcard': 'vcf',
  'text/x-vcalendar': 'vcs',
  'text/x-vcard': 'vcf',
  'video/3gpp': '3gp',
  'video/3gpp2': '3g2',
  'video/mpeg': 'mpeg',
  'video/x-m4v': 'm4v',
  'video/x-matroska': 'mkv',
  'video/x-msvideo': 'avi',
};

const EXTENSIONS = new Map([
  ...Object.entries(PHONE_TYPES),
  ...Object.entries(MEDIA_TYPES).map(([extension, type]) => [type, extension] as const),
]);

/**
 * The usual extension of files of a media type; null: none is known.
 * @param contentType with or without parameters.
 */
export const extensionFor = (contentType: string | null): string | null =>
  EXTENSIONS.get((contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '') ?? null;

/** Media that may be sent, as `file-type` names them: more than the extensions, because the containers are the same. */
const ALLOWED_CONTENT = new Set(
  `png apng jpg gif webp heic heif avif
  mp3 mp2 mp1 m4a wav aac ogg oga opus spx caf mp4 m4v mov 3gp 3g2 webm mkv ogv ogx pdf`.split(/\s+/),
);

/**
 * Whether content of this type may have an allowed name. The extension decides what a file is: phones name a PNG
 * `photo.jpg`. A program never has an allowed name.
 * @param detected the content's type, as `file-type` names it.
 */
export const isAllowedContent = (detected: string): boolean => ALLOWED_CONTENT.has(detected);

const extensionOf = (name: string): string => /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '';

export const isAudio = (contentType: string | null): boolean => contentType?.startsWith('audio/') ?? false;
