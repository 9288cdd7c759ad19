package import SystemPackage
package import UbiquityContainers

/// A layer over the kernel's files, of which a test replaces only some operations.
package protocol KernelFileLayer: FileLayer {}

extension KernelFileLayer {
    private var kernel: LinuxFileLayer { LinuxFileLayer() }

    package func names(in directory: FilePath) throws(Errno) -> [String] { try kernel.names(in: directory) }
    package func read(_ file: FilePath, limit: Int) throws(Errno) -> [UInt8] { try kernel.read(file, limit: limit) }
    package func size(of file: FilePath) throws(Errno) -> Int64 { try kernel.size(of: file) }
    package func kind(of path: FilePath) throws(Errno) -> FileKind? { try kernel.kind(of: path) }
    package func makeDirectory(_ path: FilePath) throws(Errno) { try kernel.makeDirectory(path) }
    package func writeNew(_ file: FilePath, _ bytes: [UInt8]) throws(Errno) { try kernel.writeNew(file, bytes) }
    package func renameNew(_ from: FilePath, to: FilePath) throws(Errno) { try kernel.renameNew(from, to: to) }
    package func renameOver(_ from: FilePath, to: FilePath) throws(Errno) { try kernel.renameOver(from, to: to) }
    package func syncDirectory(_ directory: FilePath) throws(Errno) { try kernel.syncDirectory(directory) }
    package func syncFile(_ file: FilePath) throws(Errno) { try kernel.syncFile(file) }
    package func remove(_ file: FilePath) throws(Errno) { try kernel.remove(file) }
    package func removeDirectory(_ directory: FilePath) throws(Errno) { try kernel.removeDirectory(directory) }
}
