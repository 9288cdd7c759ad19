import ArgumentParser
import Foundation
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Runs `ubcontrol new`.
struct NewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: "Write a small app with a synced table, tests with simulated devices, and a README.",
        discussion: """
            The app is a Swift package: a module with one table and its store, a program that adds and lists items, and tests in which two \
            simulated devices exchange them. It builds, and its tests pass, as it is. The files are written together or not at all; nothing that \
            exists is changed.

                ubcontrol new Shopping --directory DIR --package CLONE

            NAME names the package and its modules: an ASCII letter, then letters and digits. The program has the name in small letters.

            Exit status 0 if the app was written, 1 if a file cannot be written or the directory exists, 64 for a wrong name or a package that is \
            not there.
            """
    )

    @Argument(help: ArgumentHelp("The app's name, such as Shopping.", valueName: "name"))
    var name: String

    @Option(
        help: ArgumentHelp("The directory to write, which must not exist.", discussion: "By default NAME, here.", valueName: "dir"),
        completion: .directory)
    var directory: String?

    @Option(
        help: ArgumentHelp(
            "The identifier of the app's container, such as org.example.shopping.", discussion: "By default org.example. and the name.",
            valueName: "identifier"))
    var identifier: String?

    @Option(
        help: ArgumentHelp(
            "The clone of Ubiquity on which the app depends, or the URL of its repository.",
            discussion: "By default the clone that this program was built in.", valueName: "path-or-url"),
        completion: .directory)
    var package: String?

    @Option(
        help: ArgumentHelp(
            "The least version of Ubiquity, with the URL of a repository.", discussion: "By default the version of this program.",
            valueName: "version"))
    var from: String?

    @Flag(help: "Print a JSON object: name, directory, identifier, package (the entry in the manifest), files.")
    var json = false

    func run() async throws {
        let name = try AppName(name)
        let source = try PackageSource(package, from: from, program: Self.program)
        guard source.identity.lowercased() != name.package.lowercased() else {
            throw Refusal("The name “\(name.package)” is that of the package at \(package ?? source.identity); choose another one.")
        }
        let template = AppTemplate(name: name, identifier: try checked(identifier ?? name.identifier), source: source)
        let directory = PathFacts.absolute(FilePath(directory ?? name.package))
        try AppWriter(directory).write(template.files)
        let told = directory == PathFacts.absolute(FilePath(name.package)) ? name.package : directory.string
        if json {
            try printJSON(
                Written(
                    name: name.package, directory: directory.string, identifier: template.identifier, package: source.dependency,
                    files: template.files.map(\.path)))
        } else {
            print(
                """
                Wrote \(told.printable): \(counted(template.files.count, "file")).

                    cd \(told.shellWord)
                    swift test
                    swift run \(name.program) add Milk

                README.md says how two devices share it, and what to change before you publish it.
                """)
        }
    }

    private func checked(_ identifier: String) throws -> String {
        do {
            return try ContainerIdentifier(identifier).description
        } catch {
            throw Refusal("--identifier: \(error.message)")
        }
    }

    private static var program: FilePath {
        FilePath((try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0])
    }

    private struct Written: Encodable {
        var name: String
        var directory: String
        var identifier: String
        var package: String
        var files: [String]
    }
}
