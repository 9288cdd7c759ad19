internal import Foundation
internal import ObjectTransfer
package import SystemPackage
internal import UbiquityContainers

/// The rclone of a device: where it is, and whether it may be used.
package struct RcloneProgram: Sendable, Hashable {
    package let path: FilePath
    /// Its configuration file; nil for its usual one.
    package let configuration: FilePath?

    /// The least version: earlier ones let anybody who reaches their interface run programs, and overwrite where this one refuses.
    package static let leastVersion = RcloneVersion(major: 1, minor: 73, patch: 5)

    /// Where newer versions are.
    package static let source = "https://rclone.org/downloads/"

    /// Finds the program.
    ///
    /// - Parameters:
    ///   - path: where it is; nil to look on the PATH.
    ///   - configuration: its configuration file.
    ///   - environment: the environment with the PATH.
    /// - Throws: `ObjectStoreError` with `unusable` if there is none.
    package init(
        _ path: FilePath? = nil, configuration: FilePath? = nil, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws {
        self.configuration = configuration
        if let path {
            guard FileManager.default.isExecutableFile(atPath: path.string) else {
                throw ObjectStoreError(.unusable, "\(path) is no program; name rclone's path in config.json, or install it from \(Self.source)")
            }
            self.path = path
            return
        }
        let directories = (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        guard
            let found = directories.map({ FilePath(String($0)).appending("rclone") }).first(where: {
                FileManager.default.isExecutableFile(atPath: $0.string)
            })
        else {
            throw ObjectStoreError(
                .unusable, "rclone is not installed; install version \(Self.leastVersion) or newer from \(Self.source) (Debian 12 has an older one).")
        }
        self.path = found
    }

    /// The version that it says.
    ///
    /// - Throws: `ObjectStoreError` with `unusable` if it cannot be run or is too old.
    package func checkedVersion() async throws -> RcloneVersion {
        let text = try await run(["version"])
        guard let version = RcloneVersion(output: text) else {
            throw ObjectStoreError(.unusable, "\(path) does not say its version; install rclone from \(Self.source)")
        }
        guard version >= Self.leastVersion else {
            throw ObjectStoreError(
                .unusable,
                "\(path) is rclone \(version), which has known security holes and overwrites files; install \(Self.leastVersion) or newer from \(Self.source)"
            )
        }
        return version
    }

    /// The arguments that name the configuration file.
    package var configurationArguments: [String] { configuration.map { ["--config", $0.string] } ?? [] }

    /// Runs it, and returns what it prints.
    ///
    /// - Throws: `ObjectStoreError` with its last line if it fails.
    package func run(_ arguments: [String]) async throws -> String {
        let (path, configuration) = (path, configurationArguments)
        return try await blocking {
            let process = Process()
            let (output, errors) = (Pipe(), Pipe())
            process.executableURL = URL(filePath: path.string)
            process.arguments = arguments + configuration
            (process.standardInput, process.standardOutput, process.standardError) = (FileHandle.nullDevice, output, errors)
            do {
                try process.run()
            } catch {
                throw ObjectStoreError(.unusable, "\(path) cannot be run (\(error.localizedDescription)).")
            }
            // What it complains about is short, and fits into the pipe.
            let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
            let complaint = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
            process.waitUntilExit()
            guard process.terminationStatus == 0 else {
                throw ObjectStoreError.rclone(
                    complaint.split(separator: "\n").last.map(String.init) ?? "exit status \(process.terminationStatus)", status: nil)
            }
            return text
        }
    }
}

/// A version of rclone.
package struct RcloneVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var major: Int, minor: Int, patch: Int

    package init(major: Int, minor: Int, patch: Int) { (self.major, self.minor, self.patch) = (major, minor, patch) }

    /// Reads the first line of `rclone version`: `rclone v1.75.2`, also `v1.60.1-DEV`.
    package init?(output: String) {
        guard let line = output.split(separator: "\n").first, line.hasPrefix("rclone v") else { return nil }
        let numbers = line.dropFirst("rclone v".count).prefix { $0.isNumber || $0 == "." }.split(separator: ".").map { Int($0) }
        guard numbers.count >= 2, let major = numbers[0], let minor = numbers[1] else { return nil }
        self.init(major: major, minor: minor, patch: numbers.count > 2 ? numbers[2] ?? 0 : 0)
    }

    package static func < (left: Self, right: Self) -> Bool { (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch) }
    package var description: String { "\(major).\(minor).\(patch)" }
}
