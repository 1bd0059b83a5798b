/** Pixels that a hundred thousand marks are put on within some milliseconds: discs and rectangles, in part transparent, on a ground. */
import type { Rgb } from './colors';
import type { Box, Setting } from './picture';

export class Raster {
  readonly data: Uint8ClampedArray<ArrayBuffer>;

  /** One for a part of a setting, and where its first pixel is. */
  static of(area: Box, { ratio, colors }: Setting): { raster: Raster; left: number; top: number } {
    const [left, top] = [Math.round(area.left * ratio), Math.round(area.top * ratio)];
    const width = Math.max(0, Math.round(area.right * ratio) - left);
    return { raster: new Raster(width, Math.max(0, Math.round(area.bottom * ratio) - top), colors.back), left, top };
  }

  constructor(
    readonly width: number,
    readonly height: number,
    ground: Rgb
  ) {
    this.data = new Uint8ClampedArray(width * height * 4);
    const [red, green, blue] = ground;
    new Uint32Array(this.data.buffer).fill(new Uint32Array(new Uint8Array([red, green, blue, 255]).buffer)[0] ?? 0);
  }

  /** A disc around a place, which need not be whole. */
  disc(x: number, y: number, disc: Disc, color: Rgb): void {
    const left = Math.round(x - disc.size / 2);
    const top = Math.round(y - disc.size / 2);
    for (let row = Math.max(0, -top); row < disc.size && top + row < this.height; row += 1) {
      for (let column = Math.max(0, -left); column < disc.size && left + column < this.width; column += 1) {
        this.blend(((top + row) * this.width + left + column) * 4, color, disc.alphas[row * disc.size + column] ?? 0);
      }
    }
  }

  /** A rectangle, from pixel to pixel. */
  rect(left: number, top: number, right: number, bottom: number, color: Rgb, alpha = 1): void {
    const [x0, x1] = [Math.max(0, Math.round(left)), Math.min(this.width, Math.round(right))];
    const [y0, y1] = [Math.max(0, Math.round(top)), Math.min(this.height, Math.round(bottom))];
    for (let y = y0; y < y1; y += 1) {
      for (let x = x0; x < x1; x += 1) {
        this.blend((y * this.width + x) * 4, color, alpha);
      }
    }
  }

  /** The edge of a rectangle, within it. */
  edge(left: number, top: number, right: number, bottom: number, thick: number, color: Rgb): void {
    this.rect(left, top, right, Math.min(bottom, top + thick), color);
    this.rect(left, Math.max(top, bottom - thick), right, bottom, color);
    this.rect(left, top, Math.min(right, left + thick), bottom, color);
    this.rect(Math.max(left, right - thick), top, right, bottom, color);
  }

  put(pen: CanvasRenderingContext2D, left: number, top: number): void {
    if (this.width > 0 && this.height > 0) {
      pen.putImageData(new ImageData(this.data, this.width, this.height), left, top);
    }
  }

  private blend(at: number, color: Rgb, alpha: number): void {
    const data = this.data;
    const under = 1 - alpha;
    data[at] = color[0] * alpha + (data[at] ?? 0) * under;
    data[at + 1] = color[1] * alpha + (data[at + 1] ?? 0) * under;
    data[at + 2] = color[2] * alpha + (data[at + 2] ?? 0) * under;
  }
}

/** A disc's pixels: how much each covers. */
export interface Disc {
  readonly size: number;
  readonly alphas: Float32Array;
}

/** A disc of a radius in pixels, with a soft edge. */
export function discOf(radius: number, alpha: number): Disc {
  const size = Math.max(1, Math.ceil(radius * 2));
  const alphas = new Float32Array(size * size);
  for (let at = 0; at < alphas.length; at += 1) {
    const [x, y] = [(at % size) + 0.5 - size / 2, Math.floor(at / size) + 0.5 - size / 2];
    alphas[at] = alpha * Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(x, y)));
  }
  return { size, alphas };
}
