"""Well-known libraries by ecosystem, the most characteristic first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# by family: names of packages, and after `=` how they are shown
_LIBRARIES = {
    "python": """django fastapi flask starlette litestar sanic aiohttp tornado pyramid quart
        djangorestframework=DRF wagtail django-ninja streamlit gradio dash panel nicegui
        pyqt6=PyQt6 pyside6=PySide6 pyqt5=PyQt5 kivy textual homeassistant ansible-core=ansible
        torch=PyTorch tensorflow jax transformers scikit-learn keras lightning langchain langgraph
        openai anthropic mcp pandas polars numpy scipy dask ray apache-airflow=airflow dagster
        prefect dbt-core=dbt celery dramatiq rq sqlalchemy sqlmodel alembic tortoise-orm peewee
        pymongo redis psycopg pydantic strawberry-graphql=strawberry graphene grpcio=grpc scrapy
        playwright selenium click typer rich httpx requests boto3 jinja2 werkzeug twisted trio
        anyio uvicorn gunicorn pytest""",
    "node": """next nuxt @remix-run/react=remix @sveltejs/kit=sveltekit astro gatsby
        @angular/core=angular @nestjs/core=nest expo react-native electron @tauri-apps/api=tauri
        react preact vue svelte solid-js=solid @builder.io/qwik=qwik lit ember-source=ember
        express fastify koa hono @hapi/hapi=hapi @trpc/server=tRPC graphql @apollo/server=apollo
        prisma @prisma/client=prisma drizzle-orm=drizzle typeorm mongoose sequelize socket.io vite
        webpack rollup esbuild rolldown parcel turbo nx lerna redux @reduxjs/toolkit=redux-toolkit
        zustand jotai @tanstack/react-query=tanstack-query tailwindcss=tailwind @mui/material=MUI
        three d3 zod ai @modelcontextprotocol/sdk=mcp vitepress @docusaurus/core=docusaurus
        storybook vitest jest mocha ava playwright @playwright/test=playwright cypress""",
    "rust": """tauri axum actix-web rocket warp poem leptos yew dioxus bevy egui eframe=egui iced
        tokio async-std hyper tower tonic reqwest rayon crossbeam clap serde sqlx diesel sea-orm
        wasm-bindgen pyo3 napi wgpu ratatui tracing candle-core=candle polars""",
    "go": """github.com/gin-gonic/gin=gin github.com/labstack/echo=echo
        github.com/gofiber/fiber=fiber github.com/go-chi/chi=chi
        github.com/gorilla/mux=gorilla/mux google.golang.org/grpc=grpc k8s.io/client-go=client-go
        sigs.k8s.io/controller-runtime=controller-runtime github.com/hashicorp/raft=raft
        go.etcd.io/etcd=etcd github.com/spf13/cobra=cobra github.com/urfave/cli=urfave/cli
        github.com/alecthomas/kingpin=kingpin github.com/charmbracelet/bubbletea=bubbletea
        gorm.io/gorm=gorm entgo.io/ent=ent github.com/jmoiron/sqlx=sqlx github.com/jackc/pgx=pgx
        github.com/prometheus/client_golang=prometheus github.com/dolthub/driver=dolt
        github.com/wailsapp/wails=wails fyne.io/fyne=fyne github.com/spf13/viper=viper
        github.com/stretchr/testify=testify""",
    "jvm": """org.springframework.boot=Spring_Boot io.quarkus=Quarkus io.micronaut=Micronaut
        com.android.application=Android com.android.library=Android org.springframework=Spring
        io.ktor=Ktor io.vertx=Vert.x io.dropwizard=Dropwizard org.apache.spark=Spark
        org.apache.kafka=Kafka org.hibernate=Hibernate jakarta.persistence=JPA akka
        typesafe.play=Play org.jetbrains.compose=Compose androidx.compose=Compose
        com.squareup.okhttp3=OkHttp com.squareup.retrofit2=Retrofit io.netty=Netty
        org.openjfx=JavaFX com.google.guava=Guava org.junit.jupiter=JUnit_5 junit=JUnit""",
    "ruby": """rails sinatra hanami roda grape jekyll sidekiq puma devise turbo-rails=hotwire
        activerecord sequel pg mysql2 sqlite3 rack vite_rails dry-rb haml-rails rspec-rails=rspec
        rspec minitest""",
    "php": """laravel/framework=Laravel symfony/framework-bundle=Symfony slim/slim=Slim
        cakephp/cakephp=CakePHP yiisoft/yii2=Yii codeigniter4/framework=CodeIgniter
        drupal/core=Drupal livewire/livewire=Livewire inertiajs/inertia-laravel=Inertia
        filament/filament=Filament doctrine/orm=Doctrine api-platform/core=API_Platform
        guzzlehttp/guzzle=Guzzle twig/twig=Twig illuminate/database=Eloquent
        psr/http-message=PSR-7 pestphp/pest=Pest phpunit/phpunit=PHPUnit""",
    "dotnet": """Microsoft.AspNetCore=ASP.NET_Core Microsoft.NET.Sdk.Web=ASP.NET_Core
        Microsoft.EntityFrameworkCore=EF_Core Avalonia Microsoft.Maui=MAUI Blazor MediatR Dapper
        Microsoft.Orleans=Orleans MassTransit Newtonsoft.Json Serilog xunit=xUnit NUnit=NUnit
        MSTest=MSTest""",
    "elixir": """phoenix phoenix_live_view=live_view ash ecto ecto_sql=ecto absinthe oban nerves
        broadway plug bandit""",
    "dart": """flutter flutter_riverpod=riverpod riverpod flutter_bloc=bloc bloc provider get=GetX
        shelf serverpod dart_frog dio drift hive freezed go_router""",
}


def _table(text: str) -> dict[str, tuple[int, str]]:
    found = {}
    for rank, word in enumerate(text.split()):
        name, _, shown = word.partition("=")
        found[name.lower()] = (rank, (shown or name).replace("_", " ") if shown else name)
    return found


# families where a name covers everything below it
_PREFIXED = frozenset({"go", "jvm", "dotnet"})
# test tools say little about a product: they come last
_WEAK_NAMES = "pytest jest vitest mocha ava playwright cypress testify JUnit xUnit minitest PHPUnit"
_WEAK = frozenset(_WEAK_NAMES.split())


def select_notable(
    family: str,
    dependencies: Mapping[str, str | None],
    *,
    own: Iterable[str] = (),
    first: Iterable[str] | None = None,
    most: int = 6,
) -> list[str]:
    """The well-known dependencies with their major versions, the most characteristic first.

    If none is known, return some of `first` (or else of all). The names in `own` are left out.
    """
    table = _table(_LIBRARIES.get(family, ""))
    mine = {name.lower() for name in own}
    ranked: dict[str, tuple[int, str]] = {}
    for name, version in dependencies.items():
        lower = name.lower()
        known = table.get(lower) or (_below(lower, table) if family in _PREFIXED else None)
        if known is None or lower in mine:
            continue
        if family in _PREFIXED and known[1].lower() in mine:
            continue
        rank, shown = known
        if shown not in ranked or version:
            # PSR-7 has its number in its name
            text = f"{shown} {version}" if version and shown[-2:-1] != "-" else shown
            ranked[shown] = (min(rank, ranked.get(shown, (rank,))[0]), text)
    found = [(text.split(" ")[0] in _WEAK, text) for _, text in sorted(ranked.values())]
    if any(not weak for weak, _ in found):
        found.sort(key=lambda pair: pair[0])
        return [text for _, text in found][:most]
    names = list(dependencies if first is None else first)
    shown_names = [name.rpartition("/")[2] if family == "go" else name for name in names]
    return [name for name in shown_names if name.lower() not in mine][:3]


def _below(name: str, table: Mapping[str, tuple[int, str]]) -> tuple[int, str] | None:
    for end in range(len(name), 0, -1):
        if (end == len(name) or name[end] in "./:") and name[:end] in table:
            return table[name[:end]]
    return None


_RANGE = re.compile(r"[\^~>=v ]{0,8}(\d{1,4})(?:\.(\d{1,4}))?")
_LEAST = re.compile(r"(>=|\^|~>|~=|~|==|=|>)?[ ]{0,3}v?(\d{1,4}(?:\.\d{1,4}){0,2})")


def major_version(version: object) -> str | None:
    """The major version of a range: 19 for ^19.1.0, 0.7 for ~0.7.2."""
    found = _RANGE.match(version) if isinstance(version, str) else None
    if not found:
        return None
    if found.group(1) == "0":
        return f"0.{found.group(2)}" if found.group(2) else None
    return found.group(1)


def lowest_version(version: object) -> str | None:
    """The lowest version of a range: ≥3.11 for >=3.11,<4."""
    if not isinstance(version, str):
        return None
    found = _LEAST.match(version.strip())
    if not found:
        return None
    operator, number = found.groups()
    number = re.sub(r"(?<=\d)\.0(?:\.0)?$", "", number)
    exact = operator in ("==", "=") or (operator is None and "||" not in version)
    return number if exact else f"≥{number}"
