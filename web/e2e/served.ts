// Where each store is served that the tests look at (serve.py).

export const PORTS = { demo: 8611, hostile: 8612, static: 8613, published: 8614, stems: 8615, label: 8616 };
export type Store = keyof typeof PORTS;

const at = (store: Store, path = "") => `http://127.0.0.1:${String(PORTS[store])}/${path}`;
export const AT: Record<Store, string> = {
  demo: at("demo"),
  hostile: at("hostile"),
  static: at("static", "some/sub%20path/"),
  published: at("published"),
  stems: at("stems", "some/sub%20path/"), // a frozen site, too
  label: at("label"),
};

/** What a file of tests may choose. */
export interface Looked {
  store: Store;
}
