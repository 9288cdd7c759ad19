import Foundation
import SystemPackage

/// Measures the size of the programs without symbols, and that of packages that `Tools/package` has made.
struct SizeFigures {
    static let metrics = ["program_size_mb", "package_size_mb", "package_installed_mb"]

    private static let programs = ["ubwatch", "ubcontrol", "ubiquityd", "ubtransfer"]

    static func run(_ report: Report) throws {
        if report.wants("program_size_mb") { try sizesOfPrograms(report) }
        guard let directory = report.packages else {
            if report.wants("package_size_mb") || report.wants("package_installed_mb") {
                progress("no sizes of packages; make them with Tools/package, and name their directory with --packages")
            }
            return
        }
        let packages = try packages(in: directory)
        guard !packages.isEmpty else { throw Failure(description: "\(directory) holds no packages; make them with Tools/package") }
        for package in packages {
            let name = String(package.lastComponent!.string.prefix { $0 != "_" })
            if report.wants("package_size_mb") { report.line("package_size_mb", variant: name, unit: "MB", ours: try megabytes(package)) }
            guard report.wants("package_installed_mb") else { continue }
            // In kibibytes; see deb-control(5).
            guard let size = Double(try output(of: ["/usr/bin/dpkg-deb", "--field", package.string, "Installed-Size"])) else {
                throw Failure(description: "\(package) does not say its installed size")
            }
            report.line("package_installed_mb", variant: name, unit: "MB", ours: size * 1024 / 1e6)
        }
    }

    /// The packages in a directory, by name.
    static func packages(in directory: FilePath) throws -> [FilePath] {
        try FileManager.default.contentsOfDirectory(atPath: directory.string).filter { $0.hasSuffix(".deb") }.sorted().map(directory.appending)
    }

    private static func sizesOfPrograms(_ report: Report) throws {
        let copy = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-stripped-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: copy.string) }
        for program in programs {
            _ = try output(of: ["/usr/bin/strip", "-o", copy.string, WatchingTool.beside(program)])
            report.line("program_size_mb", variant: program, unit: "MB", ours: try megabytes(copy))
        }
    }

    private static func megabytes(_ file: FilePath) throws -> Double {
        guard let size = try FileManager.default.attributesOfItem(atPath: file.string)[.size] as? NSNumber else {
            throw Failure(description: "the size of \(file) is unknown")
        }
        return size.doubleValue / 1e6
    }

    private static func output(of command: [String]) throws -> String {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: command[0])
        process.arguments = Array(command.dropFirst())
        process.standardOutput = pipe
        do {
            try process.run()
        } catch {
            throw Failure(description: "\(command[0]) cannot be started; run Tools/setup --package (\(error))")
        }
        let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(description: "\(command.joined(separator: " ")): status \(process.terminationStatus)")
        }
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }
}
