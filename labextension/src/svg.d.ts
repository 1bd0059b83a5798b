/** JupyterLab's builder gives the text of a picture. */
declare module '*.svg' {
  const picture: string;
  export default picture;
}
