import { send } from '#console/api/client.ts';

/**
 * Saves what an address of the API returns as a file.
 * @throws ApiFailure
 */
export async function download(address: string, fileName: string): Promise<void> {
  const response = await send('GET', address);
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = fileName;
  link.click();
  // The browser has taken hold of the content by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
