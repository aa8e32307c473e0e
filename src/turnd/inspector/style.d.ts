/** Styles are imported only for their effect; the bundler collects them. */
declare module "*.css";
