import type { Browser } from 'playwright-core';

/** In pixels. */
const BLOCK = 8;
/**
 * Of 255. Browsers draw the edges of letters and of rounded corners in different ways: between Chromium 156 of Debian and
 * the headless shell 153 of the package, the mean colour of a block differs by 18 at most.
 */
const TOLERANCE = 24;

/**
 * Compares two pictures by the mean colour of their blocks, so that it does not matter which browser, on which system,
 * drew the letters. It finds what is missing, moved, covered or coloured otherwise, not another word of the same length.
 * @returns where blocks differ, as `x, y` in pixels; `size` if the pictures have different sizes.
 */
export async function differentBlocks(browser: Browser, before: Buffer, now: Buffer): Promise<string[]> {
  const page = await browser.newPage();
  try {
    const pictures = JSON.stringify([before, now].map((png) => png.toString('base64')));
    // As a text: it runs in the page, whose types are not those of Node.
    return await page.evaluate(`(async () => {
      const meansOf = async (png) => {
        const bitmap = await createImageBitmap(await (await fetch('data:image/png;base64,' + png)).blob());
        const { width, height } = bitmap;
        const context = new OffscreenCanvas(width, height).getContext('2d');
        context.drawImage(bitmap, 0, 0);
        const { data } = context.getImageData(0, 0, width, height);
        const columns = Math.ceil(width / ${BLOCK});
        const sums = new Float64Array(columns * Math.ceil(height / ${BLOCK}) * 3);
        for (let y = 0; y < height; y += 1)
          for (let x = 0; x < width; x += 1)
            for (let channel = 0; channel < 3; channel += 1)
              sums[(Math.floor(y / ${BLOCK}) * columns + Math.floor(x / ${BLOCK})) * 3 + channel] +=
                data[(y * width + x) * 4 + channel] / ${BLOCK * BLOCK};
        return { width, height, columns, sums };
      };
      const [a, b] = await Promise.all(${pictures}.map(meansOf));
      if (a.width !== b.width || a.height !== b.height) return ['size'];
      const blocks = new Set();
      a.sums.forEach((sum, index) => {
        if (Math.abs(sum - b.sums[index]) <= ${TOLERANCE}) return;
        const block = Math.floor(index / 3);
        blocks.add((block % a.columns) * ${BLOCK} + ', ' + Math.floor(block / a.columns) * ${BLOCK});
      });
      return [...blocks];
    })()`);
  } finally {
    await page.close();
  }
}
