"""A small web shop in TypeScript, with a history: a repository for sessions to work in."""

from __future__ import annotations

from pathlib import Path

from support import git

FILES = {
    "README.md": """\
# Web shop

A shop with a REST API and pages that are rendered on the server.

- `src/routes`: the API, `src/jsx`: how pages are rendered, `src/components`: parts of pages
- `src/auth`: who is logged in, `src/db`: what is stored

Run `npm test` before you push.
""",
    "package.json": """\
{
  "name": "web-shop",
  "version": "2.4.0",
  "type": "module",
  "scripts": { "test": "vitest run", "build": "tsc -p ." },
  "devDependencies": { "typescript": "^5.4.0", "vitest": "^1.6.0" }
}
""",
    "tsconfig.json": '{ "compilerOptions": { "strict": true, "jsx": "react-jsx" } }\n',
    "docs/DEPLOY.md": "# Deploy\n\nBuild the image, push it, and let the scheduler roll it out.\n",
    "docs/API.md": """\
# API

`POST /login` returns a bearer token. `GET /orders` lists the orders of the customer.
`POST /cart/items` puts a product into the cart.
""",
    "src/index.ts": """\
import { createApp } from "./app"
import { logger } from "./utils/logger"

const port = Number(process.env.PORT ?? 3000)
createApp().listen(port, () => logger.info(`listening on ${port}`))
""",
    "src/app.ts": """\
import { requireLogin } from "./auth/middleware"
import { Router } from "./router"
import { cartRoutes } from "./routes/cart"
import { loginRoutes } from "./routes/login"
import { orderRoutes } from "./routes/orders"
import { productRoutes } from "./routes/products"

export function createApp(): Router {
  const app = new Router()
  app.mount("/login", loginRoutes())
  app.mount("/products", productRoutes())
  app.mount("/cart", requireLogin(cartRoutes()))
  app.mount("/orders", requireLogin(orderRoutes()))
  return app
}
""",
    "src/router.ts": """\
export type Handler = (request: Request) => Promise<Response>

export class Router {
  private mounted = new Map<string, Router>()
  private handlers = new Map<string, Handler>()

  mount(prefix: string, router: Router): void {
    this.mounted.set(prefix, router)
  }

  on(method: string, path: string, handler: Handler): this {
    this.handlers.set(`${method} ${path}`, handler)
    return this
  }

  listen(port: number, ready: () => void): void {
    ready()
  }
}
""",
    "src/auth/token.ts": """\
import { sign } from "../utils/jwt/sign"
import { verify } from "../utils/jwt/verify"

const secret = process.env.AUTH_SECRET ?? ""
const lifetime = 60 * 60

export async function issueToken(customer: string): Promise<string> {
  return sign({ sub: customer, exp: now() + lifetime }, secret)
}

export async function readToken(token: string): Promise<string | null> {
  const payload = await verify(token, secret)
  return payload ? payload.sub : null
}

function now(): number {
  return Math.floor(Date.now() / 1000)
}
""",
    "src/auth/password.ts": """\
import { scrypt, timingSafeEqual } from "node:crypto"

export async function hashPassword(password: string, salt: string): Promise<Buffer> {
  return new Promise((done, fail) => {
    scrypt(password, salt, 64, (error, key) => (error ? fail(error) : done(key)))
  })
}

export function isSamePassword(hash: Buffer, other: Buffer): boolean {
  return hash.length === other.length && timingSafeEqual(hash, other)
}
""",
    "src/auth/middleware.ts": """\
import { Router } from "../router"
import { readToken } from "./token"

export function requireLogin(router: Router): Router {
  const guarded = new Router()
  guarded.on("ANY", "*", async (request) => {
    const header = request.headers.get("authorization") ?? ""
    const customer = await readToken(header.replace("Bearer ", ""))
    if (!customer) return new Response("unauthorized", { status: 401 })
    return router.dispatch(request, customer)
  })
  return guarded
}
""",
    "src/auth/session.ts": """\
import { issueToken } from "./token"
import { findCustomer } from "../db/customers"
import { hashPassword, isSamePassword } from "./password"

export async function logIn(email: string, password: string): Promise<string | null> {
  const customer = await findCustomer(email)
  if (!customer) return null
  const hash = await hashPassword(password, customer.salt)
  return isSamePassword(hash, customer.hash) ? issueToken(customer.id) : null
}
""",
    "src/utils/jwt/types.ts": """\
export interface JwtHeader {
  alg: "HS256" | "HS384" | "HS512"
  typ: "JWT"
}

export interface JwtPayload {
  sub: string
  exp?: number
  nbf?: number
  iat?: number
}
""",
    "src/utils/jwt/sign.ts": """\
import { createHmac } from "node:crypto"
import { encodeBase64Url } from "../encode"
import type { JwtPayload } from "./types"

export async function sign(payload: JwtPayload, secret: string): Promise<string> {
  const header = encodeBase64Url(JSON.stringify({ alg: "HS256", typ: "JWT" }))
  const body = encodeBase64Url(JSON.stringify(payload))
  const mac = createHmac("sha256", secret).update(`${header}.${body}`).digest()
  return `${header}.${body}.${encodeBase64Url(mac)}`
}
""",
    "src/utils/jwt/verify.ts": """\
import { createHmac, timingSafeEqual } from "node:crypto"
import { decodeBase64Url } from "../encode"
import type { JwtPayload } from "./types"

export async function verify(token: string, secret: string): Promise<JwtPayload | null> {
  const [header, body, signature] = token.split(".")
  const mac = createHmac("sha256", secret).update(`${header}.${body}`).digest()
  if (!timingSafeEqual(mac, decodeBase64Url(signature))) return null
  const payload = JSON.parse(decodeBase64Url(body).toString()) as JwtPayload
  return payload
}
""",
    "src/utils/jwt/verify.test.ts": """\
import { expect, test } from "vitest"
import { sign } from "./sign"
import { verify } from "./verify"

test("a signed token is accepted", async () => {
  const token = await sign({ sub: "c1" }, "secret")
  expect(await verify(token, "secret")).toEqual({ sub: "c1" })
})

test("another secret is refused", async () => {
  const token = await sign({ sub: "c1" }, "secret")
  expect(await verify(token, "other")).toBeNull()
})
""",
    "src/utils/encode.ts": """\
export function encodeBase64Url(data: string | Buffer): string {
  return Buffer.from(data).toString("base64url")
}

export function decodeBase64Url(text: string): Buffer {
  return Buffer.from(text, "base64url")
}
""",
    "src/utils/logger.ts": """\
export const logger = {
  info: (message: string) => console.log(new Date().toISOString(), message),
  error: (message: string, cause?: unknown) => console.error(message, cause),
}
""",
    "src/utils/money.ts": """\
export function formatPrice(cents: number, currency = "EUR"): string {
  return new Intl.NumberFormat("en", { style: "currency", currency }).format(cents / 100)
}

export function addTax(cents: number, percent: number): number {
  return Math.round(cents * (1 + percent / 100))
}
""",
    "src/db/client.ts": """\
import { logger } from "../utils/logger"

export interface Row {
  [column: string]: unknown
}

export async function select(sql: string, ...values: unknown[]): Promise<Row[]> {
  logger.info(sql)
  return []
}
""",
    "src/db/customers.ts": """\
import { select } from "./client"

export interface Customer {
  id: string
  email: string
  salt: string
  hash: Buffer
}

export async function findCustomer(email: string): Promise<Customer | null> {
  const [row] = await select("select * from customer where email = ?", email)
  return (row as unknown as Customer) ?? null
}
""",
    "src/db/orders.ts": """\
import { select } from "./client"

export interface Order {
  id: string
  customer: string
  total: number
  placedAt: Date
}

export async function listOrders(customer: string): Promise<Order[]> {
  const rows = await select("select * from purchase where customer = ?", customer)
  return rows as unknown as Order[]
}
""",
    "src/db/products.ts": """\
import { select } from "./client"

export interface Product {
  id: string
  title: string
  price: number
  stock: number
}

export async function listProducts(): Promise<Product[]> {
  return (await select("select * from product order by title")) as unknown as Product[]
}
""",
    "src/routes/login.ts": """\
import { logIn } from "../auth/session"
import { Router } from "../router"

export function loginRoutes(): Router {
  return new Router().on("POST", "/", async (request) => {
    const { email, password } = await request.json()
    const token = await logIn(email, password)
    return token ? Response.json({ token }) : new Response("wrong password", { status: 401 })
  })
}
""",
    "src/routes/products.ts": """\
import { listProducts } from "../db/products"
import { renderPage } from "../jsx/render"
import { ProductCard } from "../components/ProductCard"
import { Router } from "../router"

export function productRoutes(): Router {
  return new Router().on("GET", "/", async () => {
    const products = await listProducts()
    return renderPage("Products", products.map(ProductCard))
  })
}
""",
    "src/routes/cart.ts": """\
import { addTax } from "../utils/money"
import { Router } from "../router"

export function cartRoutes(): Router {
  const items = new Map<string, number>()
  return new Router().on("POST", "/items", async (request) => {
    const { product, price } = await request.json()
    items.set(product, addTax(price, 19))
    return Response.json({ count: items.size })
  })
}
""",
    "src/routes/orders.ts": """\
import { listOrders } from "../db/orders"
import { Router } from "../router"

export function orderRoutes(): Router {
  return new Router().on("GET", "/", async (request) => {
    return Response.json(await listOrders(request.headers.get("x-customer") ?? ""))
  })
}
""",
    "src/jsx/render.tsx": """\
import { Layout } from "./Layout"
import { escapeHtml } from "./escape"

export function renderPage(title: string, children: unknown): Response {
  const html = String(<Layout title={escapeHtml(title)}>{children}</Layout>)
  return new Response(html, { headers: { "content-type": "text/html" } })
}
""",
    "src/jsx/Layout.tsx": """\
import { Header } from "../components/Header"

export function Layout({ title, children }: { title: string; children: unknown }) {
  return (
    <html>
      <head>
        <title>{title}</title>
        <link rel="stylesheet" href="/styles/theme.css" />
      </head>
      <body>
        <Header title={title} />
        {children}
      </body>
    </html>
  )
}
""",
    "src/jsx/escape.ts": """\
const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => entities[sign])
}
""",
    "src/jsx/runtime.ts": """\
export type Child = string | number | Child[] | null

export function jsx(tag: string, props: Record<string, unknown>, ...children: Child[]): string {
  const attributes = Object.entries(props).map(([name, value]) => ` ${name}="${value}"`)
  return `<${tag}${attributes.join("")}>${children.flat().join("")}</${tag}>`
}
""",
    "src/components/Button.tsx": """\
export function Button({ label, kind = "primary" }: { label: string; kind?: string }) {
  return <button class={`button button-${kind}`}>{label}</button>
}
""",
    "src/components/Header.tsx": """\
import { Button } from "./Button"

export function Header({ title }: { title: string }) {
  return (
    <header>
      <h1>{title}</h1>
      <Button label="Cart" kind="quiet" />
    </header>
  )
}
""",
    "src/components/ProductCard.tsx": """\
import { formatPrice } from "../utils/money"
import { Button } from "./Button"
import type { Product } from "../db/products"

export function ProductCard(product: Product) {
  return (
    <article class="card">
      <h2>{product.title}</h2>
      <p>{formatPrice(product.price)}</p>
      <Button label="Add to cart" />
    </article>
  )
}
""",
    "src/styles/theme.css": """\
:root {
  --accent: #2b6cb0;
  --background: #ffffff;
}

.button-primary {
  background: var(--accent);
  border-radius: 4px;
}
""",
    "src/styles/cards.css": ".card {\n  display: grid;\n  gap: 0.5rem;\n}\n",
}

# the subject of each commit, and the files and folders that it adds or changes
HISTORY = (
    ("Start the shop with a router and a logger",
     ("README.md", "package.json", "tsconfig.json", "src/index.ts", "src/app.ts",
      "src/router.ts", "src/utils/logger.ts")),
    ("Store customers, products and orders", ("src/db",)),
    ("Sign and verify JSON web tokens", ("src/utils/jwt", "src/utils/encode.ts")),
    ("Log customers in with a password", ("src/auth", "src/routes/login.ts", "src/app.ts")),
    ("Render pages on the server", ("src/jsx", "src/components/Header.tsx")),
    ("Show products as cards",
     ("src/components", "src/styles", "src/routes/products.ts", "src/utils/money.ts")),
    ("List the orders of a customer", ("src/routes/orders.ts", "src/db/orders.ts", "src/app.ts")),
    ("Add tax to the prices in the cart", ("src/routes/cart.ts", "src/utils/money.ts")),
    ("Describe the API and how to deploy", ("docs", "README.md")),
    ("Compare signatures in constant time", ("src/utils/jwt/verify.ts", "src/auth/password.ts")),
    ("Escape titles of pages", ("src/jsx/render.tsx", "src/jsx/escape.ts")),
    ("Round the corners of buttons", ("src/styles/theme.css", "src/components/Button.tsx")),
)  # fmt: skip


def write_shop(repo: Path) -> None:
    """Write the shop's files and commit them, one piece of work after another."""
    for number, (subject, places) in enumerate(HISTORY):
        for path, text in FILES.items():
            if not _is_in(path, places):
                continue
            later = sum(_is_in(path, others) for _, others in HISTORY[number + 1 :])
            lines = text.splitlines(keepends=True)
            (repo / path).parent.mkdir(parents=True, exist_ok=True)
            (repo / path).write_text("".join(lines[: len(lines) - later]))
        git(repo, "add", "-A")
        git(repo, "commit", "--quiet", "-m", subject)


def _is_in(path: str, places: tuple[str, ...]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)
