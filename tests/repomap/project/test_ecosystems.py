"""Ecosystems of compiled and other languages."""

from __future__ import annotations

import pytest
from repomap.project.memory import command_tuples, look, only


def test_rust_binary() -> None:
    structure = look(
        {
            "Cargo.toml": """
            [package]
            name = "tide"
            edition = "2021"
            rust-version = "1.80"
            [dependencies]
            axum = "0.8"
            tokio = { version = "1.40", features = ["full"] }
            serde = "1"
            [lints.clippy]
            all = "warn"
            """,
            "rustfmt.toml": "max_width = 90",
        },
        code="src/main.rs src/tide.rs",
    )
    assert structure.stack == ("Rust 2021, ≥1.80 (cargo; axum 0.8, tokio 1, serde 1)",)
    assert command_tuples(structure) == [
        ("build", "cargo build", "Cargo.toml"),
        ("test", "cargo test", "Cargo.toml"),
        ("lint", "cargo clippy", "Cargo.toml"),
        ("format", "cargo fmt", "rustfmt.toml"),
        ("run", "cargo run", "Cargo.toml"),
    ]
    assert [str(one) for one in structure.entry_points] == ["src/main.rs — binary `tide`"]
    assert structure.conventions == ("Rust: rustfmt, line length 90",)


def test_rust_workspace() -> None:
    structure = look(
        {
            "Cargo.toml": """
            [workspace]
            members = ["crates/*"]
            exclude = ["crates/old"]
            [workspace.package]
            edition = "2024"
            [package]
            name = "harbour"
            [[bin]]
            name = "harbour"
            path = "crates/core/main.rs"
            """,
            "crates/tides/Cargo.toml": '[package]\nname = "tides"\ndescription = "When it flows."\n'
            "",
            "crates/berths/Cargo.toml": '[package]\nname = "berths"\n',
            "crates/berths/src/lib.rs": "//! Where ships\n//! lie. Not more.\n\nuse std;\n",
            "crates/old/Cargo.toml": "[package]",
        },
        code="crates/tides/src/lib.rs crates/tides/src/a.rs crates/core/main.rs "
        "crates/old/src/lib.rs crates/core/b.rs crates/core/c.rs",
    )
    assert structure.stack == ("Rust 2024 (workspace of 2 crates)",)
    assert only(structure, "test") == ["cargo test --workspace"]
    assert [(one.path, one.files, one.what) for one in structure.modules] == [
        ("crates/core", 3, None),
        ("crates/tides", 2, "When it flows"),
        ("crates/berths", 1, "Where ships lie"),
        ("crates/old", 1, None),
    ]
    assert [one.path for one in structure.entry_points] == [
        "crates/core/main.rs",
        "crates/tides/src/lib.rs",
        "crates/berths/src/lib.rs",
    ]


def test_go_module() -> None:
    structure = look(
        {
            "go.mod": """
            module github.com/harbour/tide

            go 1.23.4

            require (
                github.com/gin-gonic/gin v1.10.0
                golang.org/x/sys v0.1.0 // indirect
            )
            require github.com/spf13/cobra v1.8.0
            """,
            ".golangci.yml": "formatters:\n  enable: [gofumpt]\n",
            "cmd/tide/main.go": "// Copyright\npackage main\n",
            "cmd/admin/admin.go": "package main\n",
            "cmd/broken/main.go": "package other\n",
            "tools/gen/main.go": "package main\n",
            "internal/berth/doc.go": "// Package berth is a place for ships. More.\npackage a\n",
            "tide.go": "package tide\n",
        },
        code="internal/berth/a.go tide_test.go",
    )
    assert structure.stack == ("Go 1.23, module github.com/harbour/tide (gin, cobra)",)
    assert command_tuples(structure) == [
        ("install", "go mod download", "go.mod"),
        ("build", "go build ./...", "go.mod"),
        ("test", "go test ./...", "go.mod"),
        ("lint", "golangci-lint run", ".golangci.yml"),
        ("run", "go run ./cmd/tide", "cmd/tide/main.go"),
    ]
    assert [str(one) for one in structure.entry_points] == [
        "cmd/tide/main.go — main package `tide`",
        "cmd/admin/admin.go — main package `admin`",
    ]
    assert structure.conventions == ("tests: *_test.go beside the code", "Go: gofumpt")
    assert ("internal/berth", "Place for ships") in [
        (one.path, one.what) for one in structure.modules
    ]


def test_go_workspace_without_a_module_in_the_root() -> None:
    structure = look(
        {
            "go.work": "go 1.22\nuse (\n\t./api\n\t./worker\n)\n",
            "api/go.mod": "module example.com/api\n\ngo 1.22\n",
            "worker/go.mod": "module example.com/worker\n\ngo 1.22\n",
        },
        code="api/a.go api/b.go worker/w.go",
    )
    assert structure.stack == (
        "Go 1.22, module example.com/api (workspace) in api/",
        "Go 1.22, module example.com/worker in worker/",
    )
    assert only(structure, "test") == ["cd api && go test ./...", "cd worker && go test ./..."]


POM = """
<project>
  <parent>
    <groupId>org.springframework.boot</groupId>
    <artifactId>spring-boot-starter-parent</artifactId>
  </parent>
  <!-- <groupId>io.quarkus</groupId> <java.version>8</java.version> -->
  <properties><java.version>21</java.version></properties>
  <dependencies>
    <dependency><groupId>org.hibernate</groupId></dependency>
  </dependencies>
  <build><plugins><plugin>
    <artifactId>spring-boot-maven-plugin</artifactId>
  </plugin></plugins></build>
</project>
"""


def test_maven() -> None:
    structure = look(
        {
            "pom.xml": POM,
            "mvnw": "",
            "src/main/java/org/samples/harbour/package-info.java": """
            /*
             * Licensed under something.
             */
            /**
             * Berths
             * and tides. {@link More}
             */
            package org.samples.harbour;
            """,
            "src/main/java/org/samples/harbour/HarbourApplication.java": """
            @SpringBootApplication
            public class HarbourApplication {
                public static void main(String[] args) {}
            }
            """,
        },
        code="src/main/java/org/samples/harbour/Berth.java src/test/java/org/BerthTests.java",
    )
    assert structure.stack == ("Java 21 (Maven; Spring Boot, Hibernate)",)
    assert command_tuples(structure) == [
        ("build", "./mvnw package", "pom.xml"),
        ("test", "./mvnw test", "pom.xml"),
        ("run", "./mvnw spring-boot:run", "pom.xml"),
    ]
    assert [str(one) for one in structure.entry_points] == [
        "src/main/java/org/samples/harbour/HarbourApplication.java — Spring Boot application"
    ]
    assert [(one.path, one.files, one.what) for one in structure.modules] == [
        ("src/main/java/org/samples/harbour", 3, "Berths and tides")
    ]
    assert structure.conventions == ("tests: *Tests.java in src/test/ of each module",)


def test_maven_modules_without_a_wrapper() -> None:
    structure = look(
        {
            "pom.xml": "<project><modules><module>core</module><module>gone</module>"
            "</modules></project>",
            "core/pom.xml": "<project/>",
        },
        code="core/src/main/java/harbour/A.java",
    )
    assert structure.stack == ("Java (Maven, 1 module)",)
    assert only(structure, "test") == ["mvn test"]


def test_gradle() -> None:
    structure = look(
        {
            "settings.gradle.kts": 'rootProject.name = "harbour"\ninclude(":core", ":app")\n',
            "build.gradle.kts": """
            plugins {
                application
                id("com.diffplug.spotless") version "6"
                alias(libs.plugins.detekt) apply false
            }
            java { toolchain { languageVersion = JavaLanguageVersion.of(17) } }
            dependencies { implementation("io.ktor:ktor-server:3") }
            """,
            "gradlew": "",
            "app/src/main/kotlin/Main.kt": "fun main() {}\n",
        },
        code="core/src/main/kotlin/A.kt core/src/main/kotlin/B.kt",
    )
    assert structure.stack == ("Kotlin, JVM 17 (Gradle, 2 modules; Ktor)",)
    assert command_tuples(structure) == [
        ("build", "./gradlew build", "build.gradle.kts"),
        ("test", "./gradlew test", "build.gradle.kts"),
        ("lint", "./gradlew spotlessCheck", "build.gradle.kts"),
        ("format", "./gradlew spotlessApply", "build.gradle.kts"),
        ("run", "./gradlew run", "build.gradle.kts"),
    ]
    assert [str(one) for one in structure.entry_points] == [
        "app/src/main/kotlin/Main.kt — main method"
    ]
    assert [one.path for one in structure.modules] == ["core", "app"]


def test_gradle_android() -> None:
    structure = look(
        {
            "settings.gradle": "include ':app'\n",
            "build.gradle": "",
            "app/build.gradle": "plugins {\n  id 'com.android.application'\n}\n",
            "app/src/main/AndroidManifest.xml": "<action "
            "android:name='android.intent.action.MAIN'/>",
        },
        code="app/src/main/java/A.java",
    )
    assert structure.stack == ("Java (Gradle, 1 module; Android)",)
    assert only(structure, "build") == ["gradle build"]
    assert structure.entry_points[0].what == "Android app"


def test_rails() -> None:
    structure = look(
        {
            "Gemfile": """
            ruby "3.3.1"
            gem "rails", "~> 8.0"
            gem 'sidekiq'
            group :test do
              gem "rspec-rails"
            end
            """,
            "bin/rails": "#!/usr/bin/env ruby",
            "bin/dev": "#!/bin/sh",
            "bin/setup": "#!/usr/bin/env ruby",
            ".rspec": "",
            ".rubocop.yml": "",
            "config/routes.rb": "",
            "db/schema.rb": "",
            "db/migrate/20240101_a.rb": "",
            "db/migrate/20240102_b.rb": "",
        },
        code="app/models/ship.rb app/models/berth.rb spec/models/ship_spec.rb",
    )
    assert structure.stack == ("Ruby 3.3.1 (bundler; rails 8, sidekiq, rspec)",)
    assert command_tuples(structure) == [
        ("install", "bin/setup", "bin/setup"),
        ("test", "bundle exec rspec", ".rspec"),
        ("lint", "bundle exec rubocop", ".rubocop.yml"),
        ("format", "bundle exec rubocop -a", ".rubocop.yml"),
        ("run", "bin/dev", "bin/dev"),
    ]
    assert [str(one) for one in structure.entry_points] == ["config/routes.rb — Rails routes"]
    assert [str(one) for one in structure.key_files[1:]] == [
        "db/schema.rb — schema",
        "db/migrate/ — migrations",
    ]


def test_gem_with_a_rakefile() -> None:
    structure = look(
        {
            "Gemfile": "gemspec",
            "tide.gemspec": 's.summary = "Tides"\ns.required_ruby_version = ">= 3.1"\n'
            's.add_dependency "rack"\n',
            "Rakefile": "task default: :test\n\nMinitest::TestTask.create\ntask :release do\nend\n",
            "lib/tide.rb": "",
            "exe/tide": "",
        },
        code="lib/tide/a.rb test/a_test.rb",
    )
    assert structure.stack == ("Ruby ≥3.1 (bundler; rack)",)
    assert command_tuples(structure) == [
        ("install", "bundle install", "Gemfile"),
        ("test", "bundle exec rake test", "Rakefile:3"),
    ]
    assert [str(one) for one in structure.entry_points] == [
        "lib/tide.rb — gem `tide`",
        "exe/tide — command `tide`",
    ]


def test_laravel() -> None:
    structure = look(
        {
            "composer.json": """
            {
              "require": {"php": "^8.2", "laravel/framework": "^11.0", "ext-json": "*"},
              "require-dev": {"laravel/pint": "^1"},
              "scripts": {"dev": ["php artisan serve"], "post-install-cmd": "x"}
            }
            """,
            "artisan": "#!/usr/bin/env php",
            "phpunit.xml": "<phpunit/>",
            "phpstan.neon": "",
            "public/index.php": "",
            "routes/web.php": "",
        },
        code="app/Models/Ship.php tests/Feature/ShipTest.php",
    )
    assert structure.stack == ("PHP ≥8.2 (composer; Laravel 11)",)
    assert command_tuples(structure) == [
        ("install", "composer install", "composer.json"),
        ("test", "php artisan test", "phpunit.xml"),
        ("format", "vendor/bin/pint", "composer.json"),
        ("typecheck", "vendor/bin/phpstan analyse", "phpstan.neon"),
        ("run", "composer run dev", "composer.json:scripts.dev"),
    ]
    assert [one.path for one in structure.entry_points] == [
        "artisan",
        "public/index.php",
        "routes/web.php",
    ]


def test_php_library() -> None:
    structure = look(
        {
            "composer.json": '{"require": {"php": ">=8.1"}, "scripts": {"test": "phpunit"}}',
            "phpunit.xml.dist": "",
            "phpcs.xml": "",
            ".php-cs-fixer.dist.php": "",
        },
        code="src/Ship.php",
    )
    assert command_tuples(structure) == [
        ("install", "composer install", "composer.json"),
        ("test", "composer test", "composer.json:scripts.test"),
        ("lint", "vendor/bin/phpcs", "phpcs.xml"),
        ("format", "vendor/bin/php-cs-fixer fix", ".php-cs-fixer.dist.php"),
        ("test", "vendor/bin/phpunit", "phpunit.xml.dist"),
    ]


def test_dotnet() -> None:
    structure = look(
        {
            "Harbour.sln": "",
            "src/Harbour.Api/Harbour.Api.csproj": """
            <Project Sdk="Microsoft.NET.Sdk.Web">
              <PropertyGroup><TargetFramework>net9.0</TargetFramework></PropertyGroup>
              <ItemGroup>
                <PackageReference Include="Microsoft.EntityFrameworkCore.Sqlite" />
              </ItemGroup>
            </Project>
            """,
            "tests/Harbour.Tests/Harbour.Tests.csproj": "<Project/>",
        },
        code="src/Harbour.Api/Program.cs src/Harbour.Api/A.cs tests/Harbour.Tests/ShipTests.cs",
    )
    assert structure.stack == ("C#, .NET 9 (2 projects; ASP.NET Core, EF Core)",)
    assert command_tuples(structure) == [
        ("install", "dotnet restore", "Harbour.sln"),
        ("build", "dotnet build", "Harbour.sln"),
        ("test", "dotnet test", "Harbour.sln"),
        (
            "run",
            "dotnet run --project src/Harbour.Api",
            "src/Harbour.Api/Harbour.Api.csproj",
        ),
    ]
    assert [str(one) for one in structure.entry_points] == [
        "src/Harbour.Api/Program.cs — program `Harbour.Api`"
    ]


def test_dotnet_solution_below_the_root() -> None:
    structure = look(
        {"code/My App.sln": "", "code/App/App.csproj": "<TargetFramework>net48</TargetFramework>"},
        code="code/App/A.cs",
    )
    assert structure.stack == ("C#, .NET Framework 4.8",)
    assert only(structure, "build") == ["dotnet build 'code/My App.sln'"]


def test_cmake() -> None:
    structure = look(
        {
            "CMakeLists.txt": """
            cmake_minimum_required(VERSION 3.20)
            project(tide)
            set(CMAKE_CXX_STANDARD 20)
            find_package(Qt6 REQUIRED COMPONENTS Core)
            enable_testing()
            """,
            ".clang-format": "",
        },
        code="src/main.cpp src/tide.cpp include/tide.h",
    )
    assert structure.stack == ("C++20 (CMake ≥3.20; Qt 6)",)
    assert command_tuples(structure) == [
        ("build", "cmake -B build && cmake --build build", "CMakeLists.txt"),
        ("test", "ctest --test-dir build", "CMakeLists.txt"),
    ]
    assert [str(one) for one in structure.entry_points] == ["src/main.cpp — main program"]


@pytest.mark.parametrize(
    ("files", "stack", "build", "test"),
    [
        (
            {"meson.build": ""},
            "C (Meson)",
            "meson setup build && meson compile -C build",
            "meson test -C build",
        ),
        (
            {"configure.ac": "", "autogen.sh": ""},
            "C (autotools)",
            "./autogen.sh && ./configure && make",
            "make check",
        ),
        ({"MODULE.bazel": ""}, "C (Bazel)", "bazel build //...", "bazel test //..."),
        ({"Makefile": "all: tide\n\ntest: tide\n\t./run\n"}, "C (Make)", "make", "make test"),
    ],
)
def test_other_builds_of_c(
    files: dict[str, str | bytes | None], stack: str, build: str, test: str
) -> None:
    structure = look(files, code="src/a.c src/b.c src/a.h")
    assert structure.stack == (stack,)
    assert (only(structure, "build"), only(structure, "test")) == ([build], [test])


def test_elixir() -> None:
    structure = look(
        {
            "mix.exs": """
            defmodule Harbour.MixProject do
              def project, do: [app: :harbour, elixir: "~> 1.15"]
              defp deps do
                [{:phoenix, "~> 1.7"}, {:ecto_sql, "~> 3.10"}, {:credo, "~> 1.7", only: :dev}]
              end
              defp aliases, do: [setup: ["deps.get", "ecto.setup"]]
            end
            """,
            ".formatter.exs": "",
            "lib/harbour/application.ex": "",
            "lib/harbour_web/router.ex": "",
        },
        code="test/harbour_test.exs",
    )
    assert structure.stack == ("Elixir ≥1.15 (mix; phoenix 1, ecto 3)",)
    assert command_tuples(structure) == [
        ("install", "mix setup", "mix.exs"),
        ("build", "mix compile", "mix.exs"),
        ("test", "mix test", "mix.exs"),
        ("lint", "mix credo", "mix.exs"),
        ("format", "mix format", ".formatter.exs"),
        ("run", "mix phx.server", "mix.exs"),
    ]
    assert [one.path for one in structure.entry_points] == [
        "lib/harbour/application.ex",
        "lib/harbour_web/router.ex",
    ]


def test_flutter_and_dart() -> None:
    pubspec = """
    name: harbour
    environment:
      sdk: ^3.5.0
    dependencies:
      flutter:
        sdk: flutter
      flutter_bloc: ^8.1.0
    """
    structure = look({"pubspec.yaml": pubspec}, code="lib/main.dart lib/a.dart test/a_test.dart")
    assert structure.stack == ("Dart ≥3.5 (Flutter; bloc 8)",)
    assert command_tuples(structure) == [
        ("install", "flutter pub get", "pubspec.yaml"),
        ("test", "flutter test", "pubspec.yaml"),
        ("lint", "flutter analyze", "pubspec.yaml"),
        ("format", "dart format .", "pubspec.yaml"),
        ("run", "flutter run", "pubspec.yaml"),
    ]
    assert [one.path for one in structure.entry_points] == ["lib/main.dart"]
    plain = look({"pubspec.yaml": "name: a"}, code="bin/main.dart test/a_test.dart")
    assert only(plain, "test") == ["dart test"]


def test_swift() -> None:
    structure = look(
        {
            "Package.swift": '// swift-tools-version:5.9\n.package(url: "https://x/vapor.git")',
            ".swiftlint.yml": "",
            ".swiftformat": "",
        },
        code="Sources/Tide/main.swift Sources/Tide/a.swift Tests/TideTests/ATests.swift",
    )
    assert structure.stack == ("Swift ≥5.9 (SwiftPM; vapor)",)
    assert command_tuples(structure) == [
        ("build", "swift build", "Package.swift"),
        ("test", "swift test", "Package.swift"),
        ("lint", "swiftlint", ".swiftlint.yml"),
        ("format", "swiftformat .", ".swiftformat"),
    ]
    assert [one.path for one in structure.entry_points] == ["Sources/Tide/main.swift"]


def test_scala() -> None:
    structure = look(
        {
            "build.sbt": 'scalaVersion := "3.4.1"\nlibraryDependencies += "dev.zio" %% "zio"\n',
            ".scalafmt.conf": "",
            "project/plugins.sbt": 'addSbtPlugin("org.scalameta" % "sbt-scalafmt" % "2")',
        },
        code="src/main/scala/A.scala src/test/scala/ASpec.scala",
    )
    assert structure.stack == ("Scala 3.4 (sbt; ZIO)",)
    assert command_tuples(structure) == [
        ("build", "sbt compile", "build.sbt"),
        ("test", "sbt test", "build.sbt"),
        ("format", "sbt scalafmtAll", ".scalafmt.conf"),
    ]


@pytest.mark.parametrize(
    ("manifest", "code", "stack", "test"),
    [
        ("build.zig", "src/main.zig", "Zig (build.zig)", ["zig build test"]),
        ("stack.yaml", "src/A.hs", "Haskell (stack)", ["stack test"]),
        ("cabal.project", "src/A.hs", "Haskell (cabal)", ["cabal test all"]),
        ("dune-project", "bin/a.ml", "OCaml (dune)", ["dune test"]),
        ("project.clj", "src/a.clj", "Clojure (Leiningen)", ["lein test"]),
        ("rebar.config", "src/a.erl", "Erlang (rebar3)", ["rebar3 eunit"]),
        ("shard.yml", "src/a.cr", "Crystal (shards)", ["crystal spec"]),
        ("cpanfile", "lib/A.pm", "Perl", ["prove -lr t"]),
        ("foundry.toml", "src/A.sol", "Solidity (Foundry)", ["forge test"]),
        ("main.tf", "modules/a.tf", "Terraform", []),
    ],
)
def test_small_ecosystems(manifest: str, code: str, stack: str, test: list[str]) -> None:
    structure = look({manifest: ""}, code=code)
    assert structure.stack == (stack,)
    assert only(structure, "test") == test


def test_a_language_without_a_manifest_is_listed() -> None:
    structure = look({}, code="bin/a.sh bin/b.sh lib/c.sh")
    assert structure.stack == ("Shell",)
    assert structure.commands == ()


def test_the_manifest_in_the_root_outweighs_a_larger_directory() -> None:
    web = " ".join(f"ui/src/f{number}.js" for number in range(12))
    structure = look(
        {
            "go.mod": "module example.com/vault\n\ngo 1.24\n",
            "ui/package.json": '{"scripts": {"test": "jest"}, "dependencies": {"ember-source": '
            '"5"}}',
        },
        code=web + " " + " ".join(f"core/f{number}.go" for number in range(9)),
    )
    assert structure.stack == (
        "Go 1.24, module example.com/vault",
        "JavaScript (npm; ember 5) in ui/",
    )
    assert only(structure, "test") == ["go test ./...", "cd ui && npm test"]


def test_rust_version_of_the_largest_crate_and_programs_by_name() -> None:
    names = ("tide", "tide_tables", "tide_server", "stress")
    root: dict[str, str | bytes | None] = {"Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n'}
    structure = look(
        root
        | {f"crates/{name}/Cargo.toml": f'[package]\nname = "{name}"\n' for name in names}
        | {"crates/tide_tables/Cargo.toml": '[package]\nname = "t"\nrust-version = "1.71"\n'},
        code=" ".join(f"crates/{name}/src/main.rs" for name in names)
        + " crates/tide_tables/src/a.rs crates/tide_tables/src/b.rs",
    )
    assert structure.stack == ("Rust, ≥1.71 (workspace of 4 crates)",)
    assert structure.entry_points[0].path == "crates/tide/src/main.rs"


def test_a_go_library_starts_with_its_package() -> None:
    structure = look(
        {"go.mod": "module example.com/tide/v2\n"}, code="tide.go berth.go inner/main.go"
    )
    assert [str(one) for one in structure.entry_points] == ["tide.go — package `tide`"]


def test_programs_of_a_swift_library_are_examples() -> None:
    code = "Sources/Tide/a.swift Sources/Chat/main.swift"
    library = '// swift-tools-version:6.1\nproducts: [.library(name: "Tide")'
    assert look({"Package.swift": library}, code=code).entry_points == ()
    both = library + ', .executable(name: "chat", targets: ["Chat"])]'
    found = look({"Package.swift": both}, code=code).entry_points
    assert [one.path for one in found] == ["Sources/Chat/main.swift"]


def test_the_largest_gem_comes_first() -> None:
    structure = look(
        {"Gemfile": "", "a/a.gemspec": "", "b/b.gemspec": ""},
        code="a/lib/a.rb b/lib/b.rb b/lib/c.rb",
    )
    assert [one.path for one in structure.entry_points] == ["b/lib/b.rb", "a/lib/a.rb"]


def test_a_scala_library_is_not_its_own_dependency() -> None:
    build = 'lazy val root = Project(id = "akka")\nscalaVersion := "3.3.1"\n// zio\n'
    assert look({"build.sbt": build}, code="a.scala").stack == ("Scala 3.3 (sbt; ZIO)",)


def test_complete_autotools_come_before_cmake() -> None:
    structure = look(
        {"configure.ac": "", "Makefile.am": "", "CMakeLists.txt": ""}, code="lib/a.c lib/b.c"
    )
    assert structure.stack == ("C (autotools and CMake)",)
    assert only(structure, "build") == ["autoreconf -fi && ./configure && make"]
    assert only(structure, "test") == ["make check"]


def test_programs_in_c_are_found_by_their_main_function() -> None:
    structure = look(
        {
            "Makefile": "all:\n\tcc\n",
            "src/server.c": "int main(int argc, char **argv) {\n",
            "src/cli.c": "void other(void) {\n",
            "src/tool_main.c": "int main(void) {\n",
            "utils/main.c": "int main(void) {\n",
        },
        code="src/a.c src/b.c",
    )
    assert [one.path for one in structure.entry_points] == ["src/server.c", "src/tool_main.c"]


def test_code_without_a_manifest_comes_after_code_with_one() -> None:
    c = " ".join(f"tide/binding/{n}.c" for n in range(20))
    structure = look(
        {"pyproject.toml": '[project]\nname = "tide"\n'}, code=c + " tide/a.py tide/b.py tide/c.py"
    )
    assert structure.stack == ("Python", "C")


def test_dotnet_projects_below_the_root_have_their_directory() -> None:
    structure = look(
        {"a/a.csproj": "<TargetFramework>net8.0</TargetFramework>", "b/package.json": "{}"},
        code="a/Program.cs b/a.ts b/b.ts",
    )
    assert structure.stack == ("TypeScript (npm) in b/", "C#, .NET 8 in a/")


def test_generated_flutter_platforms_are_not_the_product() -> None:
    platforms = ("android", "ios", "linux", "macos", "web", "windows")
    made = " ".join(f"app/{name}/{n}.cpp app/{name}/{n}.swift" for name in platforms for n in "abc")
    structure = look(
        {"app/pubspec.yaml": "name: app\ndescription: When it flows.\n"},
        code=f"{made} app/lib/main.dart app/lib/a.dart",
    )
    assert structure.stack == ("Dart (pub) in app/",)
    assert [(one.path, one.files) for one in structure.modules] == [("app", 2)]


def test_a_number_in_a_name_is_not_a_version() -> None:
    composer = '{"require": {"psr/http-message": "^1.0", "guzzlehttp/guzzle": "^7.8"}}'
    assert look({"composer.json": composer}, code="a.php").stack == (
        "PHP (composer; Guzzle 7, PSR-7)",
    )
