import Foundation
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Where a new app finds the package Ubiquity.
enum PackageSource: Equatable {
    /// A clone of the package on this machine.
    case clone(FilePath)
    /// A repository, and the least version.
    case repository(String, from: String)

    /// Makes a source from what stands on the command line.
    ///
    /// - Parameters:
    ///   - text: the path of a clone, or the URL of a repository; nil for the clone that `program` lies in.
    ///   - version: the least version of a repository; nil for that of this program.
    ///   - program: the path of this program.
    /// - Throws: `Refusal` if there is no package, or the version has another form.
    init(_ text: String?, from version: String?, program: FilePath) throws(Refusal) {
        if let text, Self.isURL(text) {
            let version = version ?? ToolVersion.text
            guard version.wholeMatch(of: /\d+\.\d+\.\d+/) != nil else {
                throw Refusal("--from: \(version.debugDescription) is no version; give one like \(ToolVersion.text).")
            }
            self = .repository(text, from: version)
            return
        }
        guard version == nil else { throw Refusal("--from gives the version of a repository; name its URL with --package, or leave --from out.") }
        if let text {
            let path = PathFacts.absolute(FilePath(text))
            guard Self.isPackage(path) else {
                throw Refusal("\(path) is no clone of Ubiquity: there is no Package.swift of it. Name a clone, or the URL of a repository.")
            }
            self = .clone(path)
        } else if let path = Self.clone(around: program) {
            self = .clone(path)
        } else {
            throw Refusal("\(program) does not lie in a clone of Ubiquity: name a clone or the URL of a repository with --package.")
        }
    }

    /// The name by which the app's manifest refers to the package.
    var identity: String {
        switch self {
        case .clone(let path): path.lastComponent?.string ?? ""
        case .repository(let url, _):
            String(url.split(separator: "/").last?.split(separator: ":").last ?? "").replacing(/\.git$/, with: "")
        }
    }

    /// The entry in the dependencies of the app's manifest.
    var dependency: String {
        switch self {
        case .clone(let path): ".package(path: \(path.string.debugDescription))"
        case .repository(let url, let version) where version.hasPrefix("0."):
            // Before 1.0.0 a minor version may change what a symbol means.
            ".package(url: \(url.debugDescription), .upToNextMinor(from: \(version.debugDescription)))"
        case .repository(let url, let version): ".package(url: \(url.debugDescription), from: \(version.debugDescription))"
        }
    }

    /// Returns the clone that a file lies in.
    ///
    /// - Parameter file: a path, such as that of a built program.
    /// - Returns: the nearest directory around it that is a clone; nil if there is none.
    static func clone(around file: FilePath) -> FilePath? {
        var directory = file.removingLastComponent()
        while !directory.components.isEmpty {
            if isPackage(directory) { return directory }
            directory.removeLastComponent()
        }
        return nil
    }

    private static func isURL(_ text: String) -> Bool { text.contains("://") || text.wholeMatch(of: /[\w.-]+@[\w.-]+:.+/) != nil }

    private static func isPackage(_ directory: FilePath) -> Bool {
        guard let bytes = FileManager.default.contents(atPath: directory.appending("Package.swift").string) else { return false }
        return String(decoding: bytes, as: UTF8.self).contains(#"name: "Ubiquity""#)
    }
}
