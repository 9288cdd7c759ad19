import Foundation
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// Devices with containers roots of their own, between which a test carries files: a synchroniser that only adds.
struct Apart {
    var devices: [TestDevice] = []
    var stores: [UbiquitousStore] = []
    private var containers: [FilePath] = []

    init(_ count: Int, in directory: FilePath) async throws {
        for index in 0..<count {
            let root = directory.appending("root\(index)")
            try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
            let device = try TestDevice("device\(index)", in: directory, root: root)
            devices.append(device)
            stores.append(try await device.open())
            containers.append(try await device.container().path)
        }
    }

    /// Brings to each what the others have, and removes nothing.
    func exchangeFiles(where isCarried: (String) -> Bool = { _ in true }) throws {
        for from in containers {
            for to in containers where to != from {
                for path in try FileManager.default.subpathsOfDirectory(atPath: from.string).sorted() where isCarried("/" + path) {
                    guard !path.contains(".nosync") else { continue }
                    let (source, target) = (from.pushing(FilePath(path)), to.pushing(FilePath(path)))
                    var isDirectory: ObjCBool = false
                    guard FileManager.default.fileExists(atPath: source.string, isDirectory: &isDirectory) else { continue }
                    if isDirectory.boolValue {
                        try FileManager.default.createDirectory(atPath: target.string, withIntermediateDirectories: true)
                    } else if !FileManager.default.fileExists(atPath: target.string) {
                        try FileManager.default.copyItem(atPath: source.string, toPath: target.string)
                    }
                }
            }
        }
    }
}
