import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// The Debian packages that `Tools/package` makes, here of the programs of this build, and what it refuses.
///
/// `Tools/package --test` installs packages into a Debian system; these tests install them into a directory.
struct PackageTests {
    private static let programs = ["ubcontrol", "ubiquityd", "ubtransfer", "ubwatch"]

    /// Runs a body with a directory that is removed after it.
    private func withDirectory(_ body: (FilePath) async throws -> Void) async throws {
        let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-package-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        try await body(directory)
    }

    private func package(_ arguments: [String], time: String = "1700000000") async throws -> Tool.Outcome {
        try await Tool.run(packageDirectory.appending("Tools/package").string, arguments, environment: ["SOURCE_DATE_EPOCH": time])
    }

    /// Packages the programs of this build, and returns the packages by name.
    private func make(in directory: FilePath) async throws -> [String: FilePath] {
        let built = Tool.path("ubwatch").removingLastComponent().string
        let outcome = try await package(["--built", built, "--trial", "--version", "1.2-3", "--output", directory.string])
        try #require(outcome.status == 0, "\(outcome.errors)")
        let files = outcome.output.split(separator: "\n").map { FilePath(String($0)) }
        #expect(files.allSatisfy { $0.string.contains("_1.2-3_") }, "\(files)")
        return Dictionary(uniqueKeysWithValues: files.map { (String($0.lastComponent!.string.prefix { $0 != "_" }), $0) })
    }

    private func run(_ program: String, _ arguments: [String], environment: [String: String] = [:]) async throws -> String {
        let outcome = try await Tool.run(program, arguments, environment: environment)
        try #require(outcome.status == 0, "\(program) \(arguments): \(outcome)")
        return outcome.output
    }

    /// The paths and modes of the files of a package, without its directories.
    private func contents(_ package: FilePath) async throws -> [String: Substring] {
        let lines = try await run("/usr/bin/dpkg-deb", ["--contents", package.string], environment: ["TZ": "UTC"]).split(separator: "\n")
        #expect(lines.allSatisfy { $0.contains(" root/root ") && $0.contains(" 2023-11-14 22:13 ") }, "\(lines)")
        let files = lines.filter { !$0.hasPrefix("d") }
        return Dictionary(uniqueKeysWithValues: files.map { (String($0.split(separator: " ").last!.dropFirst()), $0.prefix(10)) })
    }

    @Test("I-01: Two runs make equal packages, with each part in its place, that install, upgrade and go without a trace")
    func packages() async throws {
        try await withDirectory { directory in
            let packages = try await make(in: directory.appending("first"))
            let others = try await make(in: directory.appending("second"))
            #expect(Set(packages.keys) == ["ubiquity", "inotifytools-source"])
            for (name, file) in packages {
                let other = try #require(others[name])
                #expect(FileManager.default.contentsEqual(atPath: file.string, andPath: other.string), "\(name) differs")
            }
            let (tools, helper) = (try #require(packages["ubiquity"]), try #require(packages["inotifytools-source"]))
            try await checkContents(tools, helper)
            try await checkFields(tools, helper)
            try await checkUnits(tools, in: directory.appending("unpacked"))
            try await install(packages, in: directory)
        }
    }

    private func checkContents(_ tools: FilePath, _ helper: FilePath) async throws {
        let files = try await contents(tools)
        for program in Self.programs {
            #expect(files["/usr/bin/\(program)"] == "-rwxr-xr-x")
            for path in [
                "man/man1/\(program).1.gz", "bash-completion/completions/\(program)", "zsh/vendor-completions/_\(program)",
                "fish/vendor_completions.d/\(program).fish",
            ] { #expect(files["/usr/share/\(path)"] == "-rw-r--r--", "\(path)") }
        }
        for unit in try FileManager.default.contentsOfDirectory(atPath: packageDirectory.appending("Tools/systemd").string) {
            #expect(files["/usr/lib/systemd/user/\(unit)"] == "-rw-r--r--", "\(unit)")
        }
        for path in ["copyright", "changelog.Debian.gz", "README.Debian"] { #expect(files["/usr/share/doc/ubiquity/\(path)"] != nil, "\(path)") }
        let bare = ["/usr/bin/inotifytools-source", "/usr/share/man/man1/inotifytools-source.1.gz"]
        let documents = ["changelog.Debian.gz", "copyright"].map { "/usr/share/doc/inotifytools-source/\($0)" }
        let helpers = try await contents(helper)
        #expect(Set(helpers.keys).subtracting(["/usr/share/lintian/overrides/inotifytools-source"]) == Set(bare + documents))
        #expect(files.keys.filter { $0.contains("inotifytools") }.isEmpty)
    }

    private func checkFields(_ tools: FilePath, _ helper: FilePath) async throws {
        func field(_ package: FilePath, _ name: String) async throws -> String {
            try await run("/usr/bin/dpkg-deb", ["--field", package.string, name])
        }
        let needed = try await field(tools, "Depends")
        #expect(needed.contains("libc6 (") && needed.contains("libsqlite3-0 (") && !needed.contains("inotifytools"), "\(needed)")
        let helperNeeds = try await field(helper, "Depends")
        #expect(helperNeeds.contains("ubiquity (= 1.2-3)") && helperNeeds.contains("libinotifytools0 ("), "\(helperNeeds)")
        #expect(try await field(tools, "Installed-Size").trimmingCharacters(in: .newlines).wholeMatch(of: /[1-9]\d+/) != nil)
        // A script of a package could make users or enable services; there is none, and no file that dpkg asks about.
        for package in [tools, helper] {
            let listing = try await run("/bin/sh", ["-c", "dpkg-deb --ctrl-tarfile '\(package)' | tar -t"])
            #expect(Set(listing.split(separator: "\n")) == ["./", "./control", "./md5sums"])
        }
    }

    private func checkUnits(_ tools: FilePath, in directory: FilePath) async throws {
        _ = try await run("/usr/bin/dpkg-deb", ["--extract", tools.string, directory.string])
        let units = directory.appending("usr/lib/systemd/user")
        for unit in try FileManager.default.contentsOfDirectory(atPath: units.string) {
            let text = try String(contentsOfFile: units.appending(unit).string, encoding: .utf8)
            #expect(!text.contains("Tools/systemd"), "\(unit)")
            guard unit.hasSuffix(".service") else { continue }
            let start = try #require(text.firstMatch(of: /(?m)^ExecStart=([^ \n]*)/))
            #expect(start.1.hasPrefix("/usr/bin/ub"), "\(unit)")
            #expect(FileManager.default.isExecutableFile(atPath: directory.string + start.1), "\(unit)")
        }
    }

    /// Installs packages into a directory, runs a program there, upgrades them, and removes them.
    private func install(_ packages: [String: FilePath], in directory: FilePath) async throws {
        let root = directory.appending("root")
        for folder in ["updates", "info", "triggers"] {
            try FileManager.default.createDirectory(atPath: root.appending("var/lib/dpkg/\(folder)").string, withIntermediateDirectories: true)
        }
        for file in ["status", "available"] { try Data().write(to: URL(filePath: root.appending("var/lib/dpkg/\(file)").string)) }
        let options = ["--root=\(root)", "--log=\(directory)/log", "--force-not-root", "--force-depends", "--force-bad-path"]
        func installed() async throws -> String {
            try await run("/usr/bin/dpkg-query", ["--admindir=\(root)/var/lib/dpkg", "-W", "-f=${Package} ${Version} ${db:Status-Status}\n"])
        }

        _ = try await run("/usr/bin/dpkg", options + ["--install"] + packages.values.map(\.string))
        #expect(try await installed() == "inotifytools-source 1.2-3 installed\nubiquity 1.2-3 installed\n")
        #expect(try await run("/usr/bin/dpkg", options + ["--verify"]).isEmpty)
        // The runtime is where the package puts it, below this root.
        let runtime = ["LD_LIBRARY_PATH": root.appending("usr/lib/ubiquity").string]
        for program in Self.programs {
            let version = try await run(root.appending("usr/bin/\(program)").string, ["--version"], environment: runtime)
            #expect(try await run(Tool.path(program).string, ["--version"]) == version, "\(program)")
        }

        var upgrades: [String] = []
        for (name, file) in packages {
            let (tree, upgrade) = (directory.appending("\(name).tree"), directory.appending("\(name)-next.deb").string)
            _ = try await run("/usr/bin/dpkg-deb", ["--raw-extract", file.string, tree.string])
            _ = try await run("/bin/sed", ["-i", "s/1\\.2-3/1.2-4/", tree.appending("DEBIAN/control").string])
            _ = try await run("/usr/bin/dpkg-deb", ["--root-owner-group", "-Znone", "--build", tree.string, upgrade])
            upgrades.append(upgrade)
        }
        _ = try await run("/usr/bin/dpkg", options + ["--install"] + upgrades)
        #expect(try await installed() == "inotifytools-source 1.2-4 installed\nubiquity 1.2-4 installed\n")
        #expect(try await run("/usr/bin/dpkg", options + ["--verify"]).isEmpty)

        _ = try await run("/usr/bin/dpkg", options + ["--purge"] + packages.keys.sorted())
        #expect(try await installed() == "")
        let left = try FileManager.default.subpathsOfDirectory(atPath: root.string).filter { !$0.hasPrefix("var") }
        #expect(left.isEmpty, "\(left)")
    }

    @Test(
        "What cannot be packaged is refused with status 64 and a remedy",
        arguments: [
            (["--built", "/nonexistent"], "/nonexistent is no directory; build the programs"),
            (["--built", "/usr/share/doc", "--trial"], "/usr/share/doc/ubwatch is not there; build it: swift build"),
            (["--version", "one"], "“one” is no version of a Debian package; see deb-version(7)"),
            (["--version"], "--version needs a value"),
            (["--trial"], "--trial packages programs that are built: name their directory with --built"),
            (["--rpm"], "no option “--rpm”; see Tools/package --help"),
        ])
    func refusals(arguments: [String], message: String) async throws {
        let outcome = try await package(arguments)
        #expect(outcome.status == 64 && outcome.output.isEmpty, "\(outcome)")
        #expect(outcome.errors.contains("Tools/package: \(message)"), "\(outcome.errors)")
    }

    @Test("Programs that link Swift's runtime dynamically are packaged for a trial alone, and a wrong time is refused")
    func dynamicRuntime() async throws {
        let built = Tool.path("ubwatch").removingLastComponent().string
        let outcome = try await package(["--built", built])
        #expect(outcome.status == 64 && outcome.errors.contains("--static-swift-stdlib"), "\(outcome)")
        let timeless = try await package(["--built", built, "--trial"], time: "yesterday")
        #expect(timeless.status == 64 && timeless.errors.contains("SOURCE_DATE_EPOCH is “yesterday”"), "\(timeless)")
    }

    @Test("Tools/package --help says every option and exit status")
    func help() async throws {
        let text = try await run(packageDirectory.appending("Tools/package").string, ["--help"])
        for word in ["--built DIR", "--trial", "--output DIR", "--version V", "--test", "Exit status: 0", "64", "69"] {
            #expect(text.contains(word), "\(word)")
        }
        #expect(!text.contains("set -euo"))
    }
}
