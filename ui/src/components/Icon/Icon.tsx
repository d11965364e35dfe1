const PATHS = {
  back: 'M10 3 5 8l5 5',
  check: 'm3.5 8.5 3 3 6-7',
  chevron: 'm4 6 4 4 4-4',
  close: 'm4 4 8 8M12 4l-8 8',
  copy: 'M6 6h7v7H6zM3 10V3h7',
  dataset:
    'M2.5 4.2C2.5 3 5 2.2 8 2.2s5.5.8 5.5 2S11 6.2 8 6.2s-5.5-.8-5.5-2Zm0 0v7.6c0 1.2 2.5 2 5.5 2s5.5-.8 5.5-2V4.2M2.5 8c0 1.2 2.5 2 5.5 2s5.5-.8 5.5-2',
  equal: 'M3.5 6h9M3.5 10h9',
  job: 'M2.5 8h3l2-4.5 2.5 9 1.5-4.5h2',
  moon: 'M13 9.8A5.5 5.5 0 0 1 6.2 3 5.5 5.5 0 1 0 13 9.8Z',
  save: 'M8 2v8M4.8 7 8 10.2 11.2 7M2.5 12.5v1h11v-1',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14',
  share:
    'M6.5 9.5a2.8 2.8 0 0 0 4 0l2.2-2.2a2.8 2.8 0 0 0-4-4l-.8.8m1.6 2.4a2.8 2.8 0 0 0-4 0L3.3 8.7a2.8 2.8 0 0 0 4 4l.8-.8',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7',
  system: 'M2 3h12v8H2zM6 14h4M8 11v3',
  whole: 'M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4',
  zoomIn: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14M5 7h4M7 5v4',
  zoomOut: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14M5 7h4',
  large: 'M9 2h5v5M7 14H2V9M14 2 9 7M2 14l5-5',
  map: 'M2 3.5h12v9H2zM8 8h4v3H8z',
  warn: 'M8 2 1.8 13h12.4L8 2Zm0 4.5v3M8 11.3v.2',
} as const;

export type IconName = keyof typeof PATHS;

interface IconProps {
  name: IconName;
  /** Width and height in pixels. */
  size?: number;
}

/** A line drawing in the colour of the text. Screen readers ignore it, so the text next to it must have the same meaning. */
export function Icon({ name, size = 16 }: IconProps) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
